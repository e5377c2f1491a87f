// The types and the operations of a trace, as handles of MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "benchmarks/replay/function.hpp"
#include "benchmarks/replay/trace.hpp"

namespace commlens::replay {

/// Types of MPI by their names, where this MPI has them with the same size; others are as many bytes in as many
/// pieces, as far apart as the program's elements. Operations of the program's own keep what they are given: what MPI
/// moves is the same.
class Handles {
 public:
  explicit Handles(const Trace& trace);
  Handles(Handles&&) = delete;
  ~Handles();

  /// Completes the arguments of a call.
  void complete(Arguments& call);

 private:
  void complete(Side& side);
  [[nodiscard]] MPI_Datatype type(std::size_t number);
  [[nodiscard]] MPI_Op operation(const Arguments& call) const;

  const Trace& trace_;
  std::vector<MPI_Datatype> types_;
  std::vector<bool> is_owned_;
  MPI_Op keep_ = MPI_OP_NULL;
};

}  // namespace commlens::replay

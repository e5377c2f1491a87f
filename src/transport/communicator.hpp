// An MPI communicator with an owner, and the collectives that the harness itself needs.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/grid.hpp"

namespace commlens::transport {

/// Throws Error with the call and MPI's message.
[[noreturn]] void fail_mpi(int status, const char* call);

/// Throws like fail_mpi() unless `status` is MPI_SUCCESS. Inline, because it is called for every message of a window.
inline void check_mpi(int status, const char* call) {
  if (status != MPI_SUCCESS) fail_mpi(status, call);
}

/// CALL_MPI(MPI_Barrier, communicator), or an Error that names the call.
#define CALL_MPI(function, ...) ::commlens::transport::check_mpi(function(__VA_ARGS__), #function)

/// A duplicate of its parent, so that its messages cannot match those of others. Errors are thrown as Error. Collective
/// to make and to destroy. Movable.
class Communicator {
 public:
  explicit Communicator(MPI_Comm parent);
  Communicator(Communicator&& other) noexcept;
  ~Communicator();

  /// The ranks of this communicator that share memory with this rank: those of its node.
  [[nodiscard]] Communicator node() const;
  /// Collective: those of this communicator's ranks that give the same color, in their order here.
  [[nodiscard]] Communicator split(int color) const;
  /// Collective: with the topology of a grid, and its ranks in the same order.
  [[nodiscard]] Communicator cartesian(const Grid& grid) const;

  /// Takes ownership of `handle`, which was made from another Communicator and so has its error handler. Makes no MPI
  /// call.
  [[nodiscard]] static Communicator owning(MPI_Comm handle, int rank, int size);

  /// The ranks here of those of `other`, in their order there.
  [[nodiscard]] std::vector<int> ranks_of(MPI_Comm other) const;

  [[nodiscard]] MPI_Comm handle() const { return handle_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  void barrier() const;
  /// Elementwise maximum over all ranks, on every rank. All ranks have the same number of values.
  void maximum(std::vector<double>& values) const;
  [[nodiscard]] double maximum(double value) const;
  [[nodiscard]] std::int64_t sum(std::int64_t value) const;
  [[nodiscard]] double sum_of_reals(double value) const;
  [[nodiscard]] std::string broadcast(const std::string& text, int root = 0) const;
  /// The texts of all ranks, by rank, on every rank: one collective for the lengths and one for the texts.
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) const;
  /// The text of the lowest rank whose text is not empty, on every rank; empty if there is none.
  [[nodiscard]] std::string first(const std::string& text) const;

 private:
  Communicator() = default;
  void adopt(MPI_Comm handle);

  MPI_Comm handle_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

/// Of a number that each rank has, over all ranks.
struct Spread {
  double minimum = 0;
  double maximum = 0;
  double average = 0;
};

/// Collective: of the numbers of all ranks.
inline Spread spread(double mine, const Communicator& communicator) {
  return {.minimum = -communicator.maximum(-mine),
          .maximum = communicator.maximum(mine),
          .average = communicator.sum_of_reals(mine) / communicator.size()};
}

}  // namespace commlens::transport

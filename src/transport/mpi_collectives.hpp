// Collective operations by MPI's calls, for the transports `mpi` and `staged`.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/collectives.hpp"
#include "transport/communicator.hpp"
#include "transport/mpi_types.hpp"

namespace commlens::transport {

/// Why MPI has no such call for buffers in `memory`, and it cannot be made of messages; empty if it can be done. The
/// same on all ranks.
std::string mpi_unsupported(const Collective& collective, CallMode mode, device::Memory memory);

/// Whether the MPI library has the calls of MPI 4 whose names end with _c.
bool mpi_has_large_counts();
/// Whether the blocks of the ranks do not fit its int counts and displacements, or their sum. The same on all ranks.
/// Blocks of equal size do where they can be counted in a larger unit.
bool needs_large_counts(const Collective& collective);

/// One operation, to be repeated. Arrays of one block that is longer than MPI's int counts are divided into several
/// calls, or counted in a larger unit. Blocks for which needs_large_counts() is true go by the calls with large counts.
class MpiCollective {
 public:
  /// `collective` is not mpi_unsupported(). Collective where it is persistent, also to destroy.
  MpiCollective(const Communicator& communicator, const Collective& collective, CallMode mode)
      : MpiCollective(communicator, collective, mode, needs_large_counts(collective)) {}
  /// `large_counts` has an effect where the library has them, on reduce-scatters and operations with a count for each
  /// rank.
  MpiCollective(const Communicator& communicator, const Collective& collective, CallMode mode, bool large_counts);
  MpiCollective(MpiCollective&&) = delete;
  ~MpiCollective();

  /// A blocking call is made by start(), and has ended then.
  void start();
  void finish();

 private:
  /// With its arguments, which are put together before anything is timed.
  struct PreparedCall {
    const char* name;
    std::function<int(MPI_Request* request)> call;
  };
  template <class Count, class Displacement>
  struct CountsOf;
  using IntCounts = CountsOf<int, int>;
  using LargeCounts = CountsOf<MPI_Count, MPI_Aint>;

  [[nodiscard]] const void* source(std::size_t offset = 0) const;
  [[nodiscard]] void* target(std::size_t offset = 0) const;
  void prepare();
  /// Elements `first` to `first` + `count` of an operation on whole arrays.
  void prepare_arrays(std::size_t first, int count);
  void prepare_blocks();
  template <class Counts>
  void prepare_counts(const Counts& counts);
  template <class Call, class Begin, class Prepare>
  void add(const char* name, Call call, Begin begin, Prepare prepare);

  [[nodiscard]] MPI_Op reduction() const { return reduction_ ? reduction_->handle() : MPI_OP_NULL; }
  [[nodiscard]] MPI_Comm communicator() const { return grid_ ? grid_->handle() : communicator_.handle(); }

  const Communicator& communicator_;
  std::optional<Communicator> grid_;  ///< of operations between neighbors
  Collective collective_;
  CallMode mode_;
  MPI_Datatype type_;
  std::unique_ptr<MpiReduction> reduction_;
  // One of these three, or none.
  std::unique_ptr<Layout> block_;  ///< alike for all ranks
  std::unique_ptr<IntCounts> int_counts_;
  std::unique_ptr<LargeCounts> large_counts_;
  std::vector<PreparedCall> calls_;  ///< of start(), unless requests are persistent
  std::vector<MPI_Request> requests_;
};

}  // namespace commlens::transport

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

/// One operation, to be repeated. Arrays of one block that is longer than MPI's int counts are divided into several
/// calls, or counted in a larger unit.
class MpiCollective {
 public:
  /// `collective` is not mpi_unsupported(). Collective where it is persistent, also to destroy.
  MpiCollective(const Communicator& communicator, const Collective& collective, CallMode mode);
  MpiCollective(MpiCollective&&) = delete;
  ~MpiCollective();

  /// A blocking call is made by start(), and has ended then.
  void start();
  void finish();

 private:
  enum class Action { call, begin, prepare };

  [[nodiscard]] const void* source(std::size_t offset = 0) const;
  [[nodiscard]] void* target(std::size_t offset = 0) const;
  void displace_in_bytes(const std::vector<Piece>& sends, const std::vector<Piece>& receives);
  void act(Action action);
  /// Elements `first` to `first` + `count` of an operation on whole arrays.
  void act_on_arrays(Action action, std::size_t first, int count);
  void act_on_blocks(Action action);
  void act_on_counts(Action action);
  template <class Call, class Begin, class Prepare>
  void issue(Action action, const char* name, Call call, Begin begin, Prepare prepare);

  [[nodiscard]] MPI_Comm communicator() const { return grid_ ? grid_->handle() : communicator_.handle(); }

  const Communicator& communicator_;
  std::optional<Communicator> grid_;  ///< of operations between neighbors
  Collective collective_;
  CallMode mode_;
  MPI_Datatype type_;
  std::unique_ptr<MpiReduction> reduction_;
  std::unique_ptr<Layout> sends_;  ///< of blocks; with a count for each rank or alike
  std::unique_ptr<Layout> receives_;
  std::vector<MPI_Datatype> types_;  ///< of MPI_Alltoallw, which takes one for each rank
  std::vector<int> send_offsets_;    ///< likewise, in bytes
  std::vector<int> receive_offsets_;
  std::vector<MPI_Aint> neighbor_send_offsets_;  ///< of MPI_Neighbor_alltoallw
  std::vector<MPI_Aint> neighbor_receive_offsets_;
  std::vector<MPI_Request> requests_;
};

}  // namespace commlens::transport

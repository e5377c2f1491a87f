// Ranks of communicators as ranks of a replay's MPI_COMM_WORLD.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <vector>

#include "benchmarks/replay/communicators.hpp"
#include "benchmarks/replay/program.hpp"

namespace commlens::replay {

class WorldRanks {
 public:
  explicit WorldRanks(MPI_Comm world);
  WorldRanks(WorldRanks&&) = delete;
  ~WorldRanks();

  /// Those that messages in the communicator are sent to, by their ranks there.
  const std::vector<int>& peers(const CommunicatorEntry& communicator, const Shape& shape);
  /// The same of a communicator for which peers() was called, though it may be freed by now; -1: it is not known.
  [[nodiscard]] int peer(std::uint64_t communicator, int rank) const;
  /// Those that this rank receives from in collectives of neighbors.
  [[nodiscard]] std::vector<std::int32_t> sources(const CommunicatorEntry& communicator, const Shape& shape);

 private:
  MPI_Group world_ = MPI_GROUP_NULL;
  std::map<std::uint64_t, std::vector<int>> known_;  ///< by the id of the communicator
};

}  // namespace commlens::replay

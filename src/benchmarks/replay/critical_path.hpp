// The time of a replay if communication were free: computation, and the order that messages and collectives impose.
#pragma once

#include <cstdint>
#include <vector>

#include "benchmarks/replay/matching.hpp"
#include "benchmarks/replay/rank_log.hpp"

namespace commlens::replay {

/// A piece of the critical path: a rank, and when it was there in the replay as it was.
struct PathPiece {
  std::int32_t rank = 0;
  double begin_s = 0;
  double end_s = 0;
};

struct CriticalPath {
  double seconds = 0;             ///< from the first start of a rank to the last end, with communication for free
  std::vector<PathPiece> pieces;  ///< from the start to the end
};

/// With communication for free a rank computes between its calls as long as it did, and a call ends at once, or when
/// the last of those that MPI makes it await has begun. MPI has room for all messages: only a synchronous send awaits
/// its receive.
CriticalPath critical_path(const std::vector<RankLog>& logs, const Matching& matching);

}  // namespace commlens::replay

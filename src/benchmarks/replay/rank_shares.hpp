// What ranks did over the time of a replay, in intervals of equal length: what a picture of them shows.
#pragma once

#include <cstddef>
#include <vector>

#include "benchmarks/replay/critical_path.hpp"
#include "benchmarks/replay/rank_log.hpp"
#include "benchmarks/replay/wait_states.hpp"

namespace commlens::replay {

/// Of each row one value for each interval, row by row. A row is a rank, or several neighboring ones where there are
/// more ranks than `most_rows`.
struct RankShares {
  static constexpr std::size_t intervals = 300;
  static constexpr std::size_t most_rows = 64;

  std::vector<double> waiting;   ///< share of the interval, from 0 to 1
  std::vector<double> transfer;  ///< likewise; the rest is computation
  std::vector<double> path;      ///< for each interval, the rank on which the critical path is at its middle
};

RankShares rank_shares(const std::vector<RankLog>& logs, const std::vector<Waits>& waits, const CriticalPath& path);

}  // namespace commlens::replay

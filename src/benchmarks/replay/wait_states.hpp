// How long a rank waits in a call for another one. The wait states are those of Scalasca (Boehme, Geimer, Arnold,
// Voigtlaender, Wolf: Identifying the Root Causes of Wait States in Large-Scale Parallel Applications, ACM TOPC 3,
// 2016).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "benchmarks/replay/matching.hpp"
#include "benchmarks/replay/rank_log.hpp"

namespace commlens::replay {

enum class WaitState { late_sender, late_receiver, late_collective };
constexpr std::size_t wait_states_count = 3;

/// Of one rank, in seconds.
struct Waits {
  std::array<double, wait_states_count> sums{};
  double caused_s = 0;          ///< of other ranks, for this one
  std::vector<double> of_call;  ///< from the begin of each call

  [[nodiscard]] double of(WaitState state) const { return sums[static_cast<std::size_t>(state)]; }
  [[nodiscard]] double sum() const { return sums[0] + sums[1] + sums[2]; }
};

/// By rank. A call waits until the last of those that its operations await has begun, and at most until it ends.
std::vector<Waits> wait_states(const std::vector<RankLog>& logs, const Matching& matching);

}  // namespace commlens::replay

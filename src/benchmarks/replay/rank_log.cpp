#include "benchmarks/replay/rank_log.hpp"

#include <algorithm>

namespace commlens::replay {

void keep_calls(RankLog& log, std::size_t calls) {
  log.calls.resize(std::min(calls, log.calls.size()));
  while (!log.operations.empty() && log.operations.back().begin >= log.calls.size()) log.operations.pop_back();
  for (Operation& own : log.operations) {
    if (own.end >= log.calls.size()) own.end = Operation::never;
  }
}

void keep_until(RankLog& log, double time_s) {
  const auto after = std::partition_point(log.calls.begin(), log.calls.end(),
                                          [&](const LoggedCall& call) { return call.enter_s < time_s; });
  keep_calls(log, static_cast<std::size_t>(after - log.calls.begin()));
  if (!log.calls.empty()) log.calls.back().exit_s = std::min(log.calls.back().exit_s, time_s);
  log.end_s = std::min(log.end_s, time_s);
}

}  // namespace commlens::replay

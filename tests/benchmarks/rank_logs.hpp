// Logs of ranks that a test writes, in milliseconds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "benchmarks/replay/rank_log.hpp"

namespace commlens::replay {

constexpr double exact = 1e-9;  ///< seconds: sums of few milliseconds

class RankLogs {
 public:
  explicit RankLogs(std::size_t ranks) : logs_(ranks) {}

  /// The number of the call. Rank after rank, calls in their order; the rank ends with its last call, unless it goes
  /// on.
  std::uint32_t call(std::size_t rank, double enter_ms, double exit_ms) {
    RankLog& log = logs_[rank];
    log.calls.push_back({.enter_s = enter_ms / 1000, .exit_s = exit_ms / 1000});
    log.end_s = exit_ms / 1000;
    return static_cast<std::uint32_t>(log.calls.size() - 1);
  }
  /// Without result.
  std::uint32_t test(std::size_t rank, double enter_ms, double exit_ms) {
    const std::uint32_t number = call(rank, enter_ms, exit_ms);
    logs_[rank].calls.back().found_nothing = true;
    return number;
  }
  void end(std::size_t rank, double end_ms) { logs_[rank].end_s = end_ms / 1000; }

  Operation& add(std::size_t rank, const Operation& operation) {
    logs_[rank].operations.push_back(operation);
    return logs_[rank].operations.back();
  }
  /// In a call that begins and completes it.
  Operation& message(Action action, std::size_t rank, std::size_t peer, std::uint32_t call, std::uint64_t number = 0) {
    return add(rank, {.action = action,
                      .communicator = 1,
                      .number = number,
                      .peer = static_cast<std::int32_t>(peer),
                      .tag = 7,
                      .begin = call,
                      .end = call});
  }
  Operation& collective(Action action, std::size_t rank, std::uint32_t call, std::size_t root = 0,
                        std::uint64_t number = 1) {
    return add(rank, {.action = action,
                      .communicator = 1,
                      .number = number,
                      .peer = static_cast<std::int32_t>(root),
                      .place = static_cast<std::int32_t>(rank),
                      .begin = call,
                      .end = call});
  }
  void sources(std::size_t rank, const std::vector<std::int32_t>& ranks, Operation& of) {
    of.sources_begin = static_cast<std::uint32_t>(logs_[rank].sources.size());
    logs_[rank].sources.insert(logs_[rank].sources.end(), ranks.begin(), ranks.end());
    of.sources_end = static_cast<std::uint32_t>(logs_[rank].sources.size());
  }

  [[nodiscard]] const std::vector<RankLog>& all() const { return logs_; }

 private:
  std::vector<RankLog> logs_;
};

/// Ranks that compute and communicate; a message takes `transfer_ms`, as does a collective once all have entered it.
class SimulatedRanks {
 public:
  SimulatedRanks(std::size_t ranks, double transfer_ms)
      : logs_(ranks), transfer_ms_(transfer_ms), now_ms_(ranks), computed_ms_(ranks) {}

  void compute(std::size_t rank, double ms) {
    now_ms_[rank] += ms;
    computed_ms_[rank] += ms;
    logs_.end(rank, now_ms_[rank]);
  }
  void barrier() {
    ++collectives_;
    const double last_ms = *std::max_element(now_ms_.begin(), now_ms_.end());
    for (std::size_t rank = 0; rank < now_ms_.size(); ++rank) {
      logs_.collective(Action::all_to_all, rank, call_until(rank, last_ms + transfer_ms_), 0, collectives_);
    }
  }
  /// A blocking send that MPI takes at once, and its receive.
  void message(std::size_t from, std::size_t to) {
    ++messages_;
    const double sent_ms = now_ms_[from];
    logs_.message(Action::send, from, to, call_until(from, sent_ms + transfer_ms_), messages_);
    const double received_ms = std::max(sent_ms, now_ms_[to]) + transfer_ms_;
    logs_.message(Action::receive, to, from, call_until(to, received_ms), messages_);
  }

  [[nodiscard]] const std::vector<RankLog>& logs() const { return logs_.all(); }
  [[nodiscard]] double end_ms() const { return *std::max_element(now_ms_.begin(), now_ms_.end()); }
  [[nodiscard]] double most_computed_ms() const { return *std::max_element(computed_ms_.begin(), computed_ms_.end()); }

 private:
  std::uint32_t call_until(std::size_t rank, double exit_ms) {
    const std::uint32_t number = logs_.call(rank, now_ms_[rank], exit_ms);
    now_ms_[rank] = exit_ms;
    return number;
  }

  RankLogs logs_;
  double transfer_ms_;
  std::vector<double> now_ms_;
  std::vector<double> computed_ms_;
  std::uint64_t collectives_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace commlens::replay

#include "benchmarks/replay/wait_states.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace commlens::replay {
namespace {

class WaitStates {
 public:
  WaitStates(const std::vector<RankLog>& logs, const Matching& matching)
      : logs_(logs), matching_(matching), last_(matching.groups()), waits_(logs.size()) {
    for (std::size_t group = 0; group < last_.size(); ++group) {
      for (const auto& member : matching.members(group)) last_[group].take_later(begin_of(member));
    }
  }

  std::vector<Waits> all() {
    for (std::size_t rank = 0; rank < logs_.size(); ++rank) find(rank);
    return std::move(waits_);
  }

 private:
  [[nodiscard]] Begin begin_of(const Matching::Member& member) const {
    const std::uint32_t call = matching_.operation(member).begin;
    return {{member.rank, call}, logs_[static_cast<std::size_t>(member.rank)].calls[call].enter_s};
  }

  [[nodiscard]] Begin last_awaited(std::size_t rank, std::uint32_t number) const {
    if (matching_.awaits_all(rank, number)) return last_[matching_.group_of(rank, number)];
    Begin last;
    matching_.for_each_awaited(rank, number,
                               [&](const Matching::Member& member) { last.take_later(begin_of(member)); });
    return last;
  }

  static WaitState state_of(Action action) {
    if (!is_message(action)) return WaitState::late_collective;
    return is_send(action) ? WaitState::late_receiver : WaitState::late_sender;
  }

  void find(std::size_t rank) {
    const RankLog& log = logs_[rank];
    waits_[rank].of_call.resize(log.calls.size());
    const auto numbers = by_end(log);
    std::uint32_t first = 0;  // call that may belong to the next that completes something
    for (std::size_t i = 0; i < numbers.size();) {
      const std::uint32_t call = log.operations[numbers[i]].end;
      Begin last;
      Begin last_receive;
      WaitState state = WaitState::late_sender;
      for (; i < numbers.size() && log.operations[numbers[i]].end == call; ++i) {
        const Operation& own = log.operations[numbers[i]];
        const Begin begin = last_awaited(rank, numbers[i]);
        if (!begin.call || !can_wait(own, log.calls[call], begin.time_s)) continue;
        if (is_send(own.action)) {
          last_receive.take_later(begin);
        } else if (!last.call || begin.time_s > last.time_s) {
          last = begin;
          state = state_of(own.action);
        }
      }
      // Of a rank that comes late to an exchange it is known that the receive has to await its send. Only what is
      // later is for its receive.
      const Calls calls{.rank = rank, .first = first_test_before(log, call, first), .last = call};
      if (last.call) take(calls, 0, last, state);
      if (last_receive.call) take(calls, last.call ? last.time_s : 0, last_receive, WaitState::late_receiver);
      first = call + 1;
    }
  }

  /// MPI may have sent a message on before there was a receive: then the call had ended before.
  static bool can_wait(const Operation& own, const LoggedCall& call, double begin_s) {
    return own.action != Action::send || begin_s < call.exit_s;
  }

  /// Tests and probes without result that directly precede a call wait for the same.
  static std::uint32_t first_test_before(const RankLog& log, std::uint32_t call, std::uint32_t least) {
    while (call > least && log.calls[call - 1].found_nothing) --call;
    return call;
  }

  /// That wait together.
  struct Calls {
    std::size_t rank = 0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };

  /// The time in the calls from `begin_s` until `awaited` has begun.
  void take(const Calls& calls, double begin_s, const Begin& awaited, WaitState state) {
    Waits& waits = waits_[calls.rank];
    for (std::uint32_t number = calls.first; number <= calls.last; ++number) {
      const LoggedCall& call = logs_[calls.rank].calls[number];
      const double seconds = std::max(0.0, std::min(awaited.time_s, call.exit_s) - std::max(begin_s, call.enter_s));
      waits.of_call[number] += seconds;
      waits.sums[static_cast<std::size_t>(state)] += seconds;
      waits_[static_cast<std::size_t>(awaited.call.rank)].caused_s += seconds;
    }
  }

  const std::vector<RankLog>& logs_;
  const Matching& matching_;
  std::vector<Begin> last_;  ///< of all members of each group
  std::vector<Waits> waits_;
};

}  // namespace

std::vector<Waits> wait_states(const std::vector<RankLog>& logs, const Matching& matching) {
  return WaitStates(logs, matching).all();
}

}  // namespace commlens::replay

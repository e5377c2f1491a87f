#include "benchmarks/replay/critical_path.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace commlens::replay {
namespace {

/// Goes through the calls of all ranks, of each as far as what it awaits is known. Times are with communication for
/// free, since the first start.
class Walk {
 public:
  Walk(const std::vector<RankLog>& logs, const Matching& matching)
      : logs_(logs), matching_(matching), groups_(matching.groups()) {
    double first_s = logs.empty() ? 0 : logs.front().start_s;
    for (const RankLog& log : logs) first_s = std::min(first_s, log.start_s);
    for (const RankLog& log : logs) {
      ranks_.push_back({.now_s = log.start_s - first_s, .by_end = replay::by_end(log)});
      ranks_.back().enters_s.reserve(log.calls.size());
      ranks_.back().awaited.resize(log.calls.size());
    }
  }

  CriticalPath path() {
    for (bool is_moving = true; is_moving;) {
      is_moving = false;
      for (std::size_t rank = 0; rank < logs_.size(); ++rank) is_moving |= advance(rank);
      if (!is_moving) is_moving = release();
    }
    CriticalPath path;
    std::size_t last = 0;
    for (std::size_t rank = 0; rank < logs_.size(); ++rank) {
      const double end_s = ranks_[rank].now_s + gap_s(rank, logs_[rank].calls.size());
      if (end_s <= path.seconds) continue;
      path.seconds = end_s;
      last = rank;
    }
    if (!logs_.empty()) path.pieces = pieces_to(last);
    return path;
  }

 private:
  struct Rank {
    double now_s = 0;
    std::size_t call = 0;          ///< the next, or the one that it is in
    std::size_t begun = 0;         ///< operations that it has begun
    std::size_t ended = 0;         ///< of by_end
    bool awaits_nothing = false;   ///< in this call, whatever the logs say
    std::vector<double> enters_s;  ///< of calls that it has entered
    std::vector<CallOf> awaited;   ///< what ended each call, where that was another rank
    std::vector<std::uint32_t> by_end;
  };
  struct Group {
    std::size_t begun = 0;
    Begin last;
  };

  /// Of the computation before a call, or after the last.
  [[nodiscard]] double gap_s(std::size_t rank, std::size_t call) const {
    const RankLog& log = logs_[rank];
    const double begin_s = call == 0 ? log.start_s : log.calls[call - 1].exit_s;
    const double end_s = call == log.calls.size() ? log.end_s : log.calls[call].enter_s;
    return std::max(0.0, end_s - begin_s);
  }

  /// Whether there was a call to enter or to leave.
  bool advance(std::size_t rank) {
    Rank& own = ranks_[rank];
    bool has_moved = false;
    while (own.call < logs_[rank].calls.size()) {
      if (own.enters_s.size() == own.call) {
        enter(rank);
        has_moved = true;
      }
      const auto last = last_awaited(rank);
      if (!last && !own.awaits_nothing) return has_moved;
      leave(rank, last.value_or(Begin()));
      has_moved = true;
    }
    return has_moved;
  }

  void enter(std::size_t rank) {
    Rank& own = ranks_[rank];
    own.now_s += gap_s(rank, own.call);
    own.enters_s.push_back(own.now_s);
    const auto& operations = logs_[rank].operations;
    for (; own.begun < operations.size() && operations[own.begun].begin == own.call; ++own.begun) {
      Group& group = groups_[matching_.group_of(rank, own.begun)];
      ++group.begun;
      group.last.take_later({{static_cast<std::int32_t>(rank), static_cast<std::uint32_t>(own.call)}, own.now_s});
    }
  }

  void leave(std::size_t rank, const Begin& last) {
    Rank& own = ranks_[rank];
    if (last.call && last.time_s > own.now_s) {
      own.now_s = last.time_s;
      own.awaited[own.call] = last.call;
    }
    const auto& operations = logs_[rank].operations;
    while (own.ended < own.by_end.size() && operations[own.by_end[own.ended]].end == own.call) ++own.ended;
    own.awaits_nothing = false;
    ++own.call;
  }

  /// Of all that the call awaits; nothing: one of them has not begun yet.
  [[nodiscard]] std::optional<Begin> last_awaited(std::size_t rank) const {
    const Rank& own = ranks_[rank];
    const auto& operations = logs_[rank].operations;
    Begin last;
    bool is_known = true;
    for (std::size_t i = own.ended; is_known && i < own.by_end.size(); ++i) {
      const std::uint32_t number = own.by_end[i];
      if (operations[number].end != own.call) break;
      is_known = take_awaited(rank, number, last);
    }
    return is_known ? std::optional(last) : std::nullopt;
  }

  /// Whether all that the operation awaits has begun.
  bool take_awaited(std::size_t rank, std::uint32_t number, Begin& last) const {
    if (matching_.awaits_all(rank, number)) {
      const std::size_t group = matching_.group_of(rank, number);
      if (groups_[group].begun < matching_.members(group).size()) return false;
      last.take_later(groups_[group].last);
      return true;
    }
    const Action action = logs_[rank].operations[number].action;
    if (action == Action::send || action == Action::buffered_send) return true;
    bool is_known = true;
    matching_.for_each_awaited(rank, number, [&](const Matching::Member& member) {
      const auto& enters_s = ranks_[static_cast<std::size_t>(member.rank)].enters_s;
      const std::uint32_t call = matching_.operation(member).begin;
      is_known = is_known && call < enters_s.size();
      if (is_known) last.take_later({{member.rank, call}, enters_s[call]});
    });
    return is_known;
  }

  /// MPI has executed the calls, so that none awaits itself. Logs that say so are wrong, which must not be the end.
  bool release() {
    for (std::size_t rank = 0; rank < logs_.size(); ++rank) {
      if (ranks_[rank].call == logs_[rank].calls.size()) continue;
      ranks_[rank].awaits_nothing = true;
      return true;
    }
    return false;
  }

  [[nodiscard]] std::vector<PathPiece> pieces_to(std::size_t last) const {
    std::vector<PathPiece> pieces;
    std::size_t rank = last;
    std::size_t before = logs_[rank].calls.size();  // the calls that may have awaited another rank
    double end_s = logs_[rank].end_s;
    while (true) {
      while (before > 0 && !ranks_[rank].awaited[before - 1]) --before;
      const RankLog& log = logs_[rank];
      const double begin_s = before > 0 ? log.calls[before - 1].exit_s : log.start_s;
      pieces.push_back({static_cast<std::int32_t>(rank), begin_s, std::max(begin_s, end_s)});
      if (before == 0) break;
      const CallOf from = ranks_[rank].awaited[before - 1];
      rank = static_cast<std::size_t>(from.rank);
      before = from.call;
      end_s = logs_[rank].calls[from.call].enter_s;
    }
    std::reverse(pieces.begin(), pieces.end());
    return pieces;
  }

  const std::vector<RankLog>& logs_;
  const Matching& matching_;
  std::vector<Group> groups_;
  std::vector<Rank> ranks_;
};

}  // namespace

CriticalPath critical_path(const std::vector<RankLog>& logs, const Matching& matching) {
  return Walk(logs, matching).path();
}

}  // namespace commlens::replay

// Which operations of the ranks belong together: a send with its receive, and the parts of a collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "benchmarks/replay/rank_log.hpp"

namespace commlens::replay {

/// When a call has begun.
struct Begin {
  CallOf call;
  double time_s = 0;

  /// Becomes the other, if that is later or the first.
  void take_later(const Begin& other) {
    if (other.call && (!call || other.time_s > time_s)) *this = other;
  }
};

class Matching {
 public:
  struct Member {
    std::int32_t rank = 0;
    std::uint32_t operation = 0;
  };

  /// The logs must outlive it.
  explicit Matching(const std::vector<RankLog>& logs);

  [[nodiscard]] std::size_t groups() const { return begins_.size() - 1; }
  [[nodiscard]] std::size_t group_of(std::size_t rank, std::size_t operation) const {
    return group_of_[rank][operation];
  }
  /// Those that belong together, in the order of ranks.
  [[nodiscard]] std::span<const Member> members(std::size_t group) const {
    return std::span(members_).subspan(begins_[group], begins_[group + 1] - begins_[group]);
  }
  [[nodiscard]] const Operation& operation(const Member& member) const {
    return logs_[static_cast<std::size_t>(member.rank)].operations[member.operation];
  }
  /// Operations of messages whose other side is in no log.
  [[nodiscard]] std::size_t unmatched() const;

  /// Whether the operation cannot complete before all members have begun it.
  [[nodiscard]] bool awaits_all(std::size_t rank, std::size_t number) const;
  /// Where not awaits_all(): calls `visit(member)` for each other whose begin the completion has to await, by what MPI
  /// says of it. A send has to await its receive if it is synchronous; whether another one does is for MPI to decide.
  template <class Visit>
  void for_each_awaited(std::size_t rank, std::size_t number, const Visit& visit) const;

 private:
  [[nodiscard]] static bool awaits(const Operation& mine, const Operation& other);
  /// nullptr: there is none.
  [[nodiscard]] const Member* member_of(std::size_t group, std::int32_t rank) const;

  const std::vector<RankLog>& logs_;
  std::vector<Member> members_;
  std::vector<std::uint32_t> begins_;
  std::vector<std::vector<std::uint32_t>> group_of_;
};

template <class Visit>
void Matching::for_each_awaited(std::size_t rank, std::size_t number, const Visit& visit) const {
  const RankLog& log = logs_[rank];
  const Operation& mine = log.operations[number];
  const std::size_t group = group_of(rank, number);
  const auto visit_rank = [&](std::int32_t other) {
    const Member* const member = member_of(group, other);
    if (member != nullptr) visit(*member);
  };
  switch (mine.action) {
    case Action::all_to_all:
    case Action::all_to_root:
      return;
    case Action::root_to_all:
      return visit_rank(mine.peer);
    case Action::neighbors:
      for (std::uint32_t i = mine.sources_begin; i < mine.sources_end; ++i) visit_rank(log.sources[i]);
      return;
    default:
      for (const Member& member : members(group)) {
        if (awaits(mine, operation(member))) visit(member);
      }
  }
}

/// The operations of a rank that complete, in the order of the calls in which they do.
std::vector<std::uint32_t> by_end(const RankLog& log);

}  // namespace commlens::replay

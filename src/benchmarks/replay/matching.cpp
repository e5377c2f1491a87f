#include "benchmarks/replay/matching.hpp"

#include <algorithm>
#include <tuple>

namespace commlens::replay {
namespace {

/// Equal for operations that belong together.
auto matching_key(const Matching::Member& member, const Operation& own) {
  const bool is_of_message = is_message(own.action);
  const bool sends = is_send(own.action);
  const std::int32_t from = is_of_message ? (sends ? member.rank : own.peer) : 0;
  const std::int32_t to = is_of_message ? (sends ? own.peer : member.rank) : 0;
  return std::tuple(is_of_message, own.communicator, from, to, own.tag, own.number);
}

}  // namespace

Matching::Matching(const std::vector<RankLog>& logs) : logs_(logs) {
  for (std::size_t rank = 0; rank < logs.size(); ++rank) {
    const std::size_t count = logs[rank].operations.size();
    group_of_.emplace_back(count);
    for (std::size_t i = 0; i < count; ++i) {
      members_.push_back({static_cast<std::int32_t>(rank), static_cast<std::uint32_t>(i)});
    }
  }
  std::stable_sort(members_.begin(), members_.end(), [&](const Member& one, const Member& other) {
    return matching_key(one, operation(one)) < matching_key(other, operation(other));
  });
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    const bool is_alone =
        i == 0 || operation(member).number == Operation::unknown ||
        matching_key(member, operation(member)) != matching_key(members_[i - 1], operation(members_[i - 1]));
    if (is_alone) begins_.push_back(static_cast<std::uint32_t>(i));
    group_of_[static_cast<std::size_t>(member.rank)][member.operation] = static_cast<std::uint32_t>(begins_.size() - 1);
  }
  begins_.push_back(static_cast<std::uint32_t>(members_.size()));
}

bool Matching::awaits_all(std::size_t rank, std::size_t number) const {
  const Operation& mine = logs_[rank].operations[number];
  return mine.action == Action::all_to_all ||
         (mine.action == Action::all_to_root && mine.peer == static_cast<std::int32_t>(rank));
}

bool Matching::awaits(const Operation& mine, const Operation& other) {
  switch (mine.action) {
    case Action::send:
    case Action::synchronous_send:
      return other.action == Action::receive;
    case Action::receive:
    case Action::probe:
      return is_send(other.action);
    case Action::scan:
      return other.place < mine.place;
    default:
      return false;
  }
}

const Matching::Member* Matching::member_of(std::size_t group, std::int32_t rank) const {
  const auto all = members(group);
  const auto found =
      std::lower_bound(all.begin(), all.end(), rank, [](const Member& own, std::int32_t r) { return own.rank < r; });
  return found != all.end() && found->rank == rank ? &*found : nullptr;
}

std::size_t Matching::unmatched() const {
  std::size_t count = 0;
  for (std::size_t group = 0; group < groups(); ++group) {
    std::size_t sends = 0;
    std::size_t receives = 0;
    for (const Member& member : members(group)) {
      const Action action = operation(member).action;
      sends += is_send(action) ? 1 : 0;
      receives += action == Action::receive || action == Action::probe ? 1 : 0;
    }
    if (sends + receives > 0 && (sends == 0 || receives == 0)) count += sends + receives;
  }
  return count;
}

std::vector<std::uint32_t> by_end(const RankLog& log) {
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < log.operations.size(); ++i) {
    if (log.operations[i].end != Operation::never) numbers.push_back(static_cast<std::uint32_t>(i));
  }
  std::stable_sort(numbers.begin(), numbers.end(), [&](std::uint32_t one, std::uint32_t other) {
    return log.operations[one].end < log.operations[other].end;
  });
  return numbers;
}

}  // namespace commlens::replay

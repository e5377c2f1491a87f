#include "benchmarks/replay/message_order.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace commlens::replay {
namespace {

bool has_wildcard(const Channel& channel) { return channel.rank == MPI_ANY_SOURCE || channel.tag == MPI_ANY_TAG; }

bool matches(const Channel& wanted, const Channel& channel) {
  return wanted.communicator == channel.communicator &&
         (wanted.rank == MPI_ANY_SOURCE || wanted.rank == channel.rank) &&
         (wanted.tag == MPI_ANY_TAG || wanted.tag == channel.tag);
}

std::uint64_t count_before(const std::vector<std::uint64_t>& posted, std::uint64_t limit) {
  return static_cast<std::uint64_t>(std::lower_bound(posted.begin(), posted.end(), limit) - posted.begin());
}

}  // namespace

PostedReceive MessageOrder::posted(const Channel& channel) {
  PostedReceive receive{.channel = channel, .posted = posted_++};
  if (has_wildcard(channel)) {
    open_[receive.posted] = channel;
    return receive;
  }
  Receives& receives = receives_[channel];
  receive.before = receives.count++;
  if (has_wildcards_) receives.posted.push_back(receive.posted);
  return receive;
}

bool MessageOrder::is_open_before(const PostedReceive& receive, const Channel& from) const {
  return std::any_of(open_.begin(), open_.lower_bound(receive.posted),
                     [&](const auto& open) { return matches(open.second, from); });
}

std::optional<std::uint64_t> MessageOrder::number(const PostedReceive& receive, const Channel& from) {
  if (!has_wildcards_) return receive.before;
  Receives& receives = receives_[from];
  std::uint64_t before = receive.before;
  const std::uint64_t matched = count_before(receives.matched, receive.posted);
  if (has_wildcard(receive.channel)) {
    before = count_before(receives.posted, receive.posted);
    receives.matched.insert(receives.matched.begin() + static_cast<std::ptrdiff_t>(matched), receive.posted);
    open_.erase(receive.posted);
  }
  if (is_open_before(receive, from)) return std::nullopt;
  return before + matched;
}

}  // namespace commlens::replay

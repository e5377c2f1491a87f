// What the host prepares for a kernel that transfers messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "transport/peer/message_kernels.hpp"
#include "transport/peer/region.hpp"
#include "transport/transport.hpp"

namespace commlens::transport::peer::gpu {

/// Threads of a block that has so much to do: whole warps. Fewer start sooner.
inline unsigned threads_for(std::size_t items) {
  constexpr std::size_t warp = 64;  // of AMD; NVIDIA's have 32
  return static_cast<unsigned>(std::clamp((items + warp - 1) / warp * warp, warp, std::size_t{threads_per_block}));
}

/// The messages of an operation in the order that its kernel wants, and the blocks for them.
class Plan {
 public:
  Plan(const std::vector<Message>& sends, const std::vector<Message>& receives) {
    add(sends, [](std::size_t) { return true; });
    lists_.sends = static_cast<unsigned>(transfers_.size());
    add(receives, [](std::size_t bytes) { return is_short(bytes); });
    lists_.short_receives = static_cast<unsigned>(transfers_.size()) - lists_.sends;
    add(receives, [](std::size_t bytes) { return !is_short(bytes); });
    lists_.long_receives = static_cast<unsigned>(transfers_.size()) - lists_.sends - lists_.short_receives;
    assign_blocks(sends);
  }

  [[nodiscard]] const std::vector<Transfer>& transfers() const { return transfers_; }
  [[nodiscard]] const Lists& lists() const { return lists_; }
  [[nodiscard]] const Roles& roles() const { return roles_; }
  [[nodiscard]] unsigned threads() const { return threads_; }  ///< of a block

 private:
  template <class IsMeant>
  void add(const std::vector<Message>& messages, IsMeant is_meant) {
    const auto first = static_cast<std::ptrdiff_t>(transfers_.size());
    std::map<std::pair<int, bool>, std::size_t> last;  // by peer and kind
    for (const Message& message : messages) {
      if (!is_meant(message.bytes)) continue;
      const std::pair key(message.peer, is_short(message.bytes));
      const auto before = last.find(key);
      const unsigned index = before == last.end() ? 0 : transfers_[before->second].index + 1;
      if (before != last.end()) transfers_[before->second].is_last = false;
      last[key] = transfers_.size();
      transfers_.push_back({.data = static_cast<std::byte*>(message.data),
                            .bytes = message.bytes,
                            .peer = message.peer,
                            .index = index,
                            .is_last = true});
    }
    std::stable_sort(transfers_.begin() + first, transfers_.end(),
                     [](const Transfer& a, const Transfer& b) { return a.index < b.index; });
  }

  void assign_blocks(const std::vector<Message>& sends) {
    constexpr std::size_t smallest = 8192;  // of a chunk
    constexpr unsigned most_receivers = 15;
    constexpr unsigned most_senders = most_blocks - most_receivers - 1;
    std::size_t bytes = 0;
    for (const Message& send : sends) bytes += is_short(send.bytes) ? 0 : send.bytes;
    roles_.chunk = (bytes / most_senders / smallest + 1) * smallest;
    std::size_t pieces = 0;
    for (const Message& send : sends)
      pieces += std::max<std::size_t>((send.bytes + roles_.chunk - 1) / roles_.chunk, 1);
    roles_.senders = static_cast<unsigned>(std::min<std::size_t>(pieces, most_senders));
    roles_.receivers = std::min(lists_.short_receives, most_receivers);
    roles_.posters = lists_.long_receives > 0 ? 1 : 0;
    std::size_t longest = 0;
    for (const Transfer& transfer : transfers_) longest = std::max(longest, transfer.bytes);
    threads_ = threads_for(longest / sizeof(unsigned));
  }

  std::vector<Transfer> transfers_;
  Lists lists_;
  Roles roles_;
  unsigned threads_ = threads_per_block;
};

}  // namespace commlens::transport::peer::gpu

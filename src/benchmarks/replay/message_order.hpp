// Which message a receive gets: its number among those between two ranks, in one communicator and with one tag.
//
// MPI keeps the order of messages that match the same receives. Both sides count: the sender its messages, the receiver
// its receives, in the order in which they are posted. A receive with a wildcard is of one of several channels, which
// is known once it is complete; until then it is not known which message those get that are posted after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace commlens::replay {

/// Messages from one rank to another.
struct Channel {
  std::uint64_t communicator = 0;
  int rank = 0;  ///< the other one, or MPI_ANY_SOURCE
  int tag = 0;   ///< or MPI_ANY_TAG

  [[nodiscard]] auto key() const { return std::tuple(communicator, rank, tag); }
  bool operator<(const Channel& other) const { return key() < other.key(); }
};

struct PostedReceive {
  Channel channel;           ///< with wildcards
  std::uint64_t posted = 0;  ///< receives before it, of any channel
  std::uint64_t before = 0;  ///< receives before it that are of its channel by what they ask for
};

class MessageOrder {
 public:
  /// `has_wildcards`: there may be receives with wildcards, for which more is kept.
  explicit MessageOrder(bool has_wildcards) : has_wildcards_(has_wildcards) {}

  /// The number of a message that is sent.
  std::uint64_t sent(const Channel& channel) { return sent_[channel]++; }
  PostedReceive posted(const Channel& channel);
  /// The number of the message that has completed the receive, once; nothing where it is not known. `from` is its
  /// channel.
  std::optional<std::uint64_t> number(const PostedReceive& receive, const Channel& from);
  /// The number of the message that the next receive would get, likewise.
  std::optional<std::uint64_t> next(const Channel& from) {
    return number({.channel = from, .posted = posted_, .before = receives_[from].count}, from);
  }

 private:
  struct Receives {
    std::uint64_t count = 0;             ///< that ask for the channel
    std::vector<std::uint64_t> posted;   ///< when, where there are wildcards
    std::vector<std::uint64_t> matched;  ///< those with wildcards that its messages have completed
  };

  [[nodiscard]] bool is_open_before(const PostedReceive& receive, const Channel& from) const;

  bool has_wildcards_;
  std::uint64_t posted_ = 0;
  std::map<Channel, std::uint64_t> sent_;
  std::map<Channel, Receives> receives_;
  std::map<std::uint64_t, Channel> open_;  ///< with wildcards and not complete, by when they were posted
};

}  // namespace commlens::replay

// A sequence of events, folded into loops while it grows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace commlens::profile {

/// Of the executions of one place in the folded sequence; in ticks of the clock.
struct Times {
  std::uint64_t gap;  ///< since the call before, wall time
  std::uint64_t cpu;  ///< CPU time in the gap
  std::uint64_t call;
  std::uint64_t longest_gap;
  std::uint64_t longest_call;
  std::uint64_t calls;  ///< more than the executions for tests without result that follow each other

  void add(const Times& other);
};

/// An event or a loop. Files of traces have these as they lie in memory (python/commlens/profile/trace_files.py).
struct Node {
  static constexpr std::uint32_t no_event = 0xFFFFFFFFU;

  std::uint64_t hash;       ///< equal for equal events and for loops of equal bodies and counts
  std::uint64_t body_hash;  ///< of a loop
  std::uint64_t count;      ///< executions of an event, iterations of a loop
  std::uint32_t event;      ///< no_event: a loop
  std::uint32_t first;      ///< of a loop: its body in the pool
  std::uint32_t length;
  std::uint32_t depth;         ///< 0: an event
  std::uint32_t mark;          ///< where the pool ended before this node
  std::int32_t previous;       ///< the one before with this hash, in the sequence; -1: none
  std::int32_t previous_loop;  ///< of a loop: the loop before in the sequence; -1: none
  std::uint32_t unused;
  Times times;

  [[nodiscard]] bool is_loop() const { return event == no_event; }
};

/// Where the sequence lies. Both arrays are stacks: the bodies of a node lie behind those of the nodes before it.
struct Sequence {
  Node* nodes;
  Node* pool;
  std::uint64_t* length;       ///< of `nodes`
  std::uint64_t* pool_length;  ///< of `pool`
  std::size_t capacity;
  std::size_t pool_capacity;
};

/// Appends events. The last nodes become one more iteration of a loop that lies just before them, or a loop with the
/// same number of nodes before them, if these are equal: the repetitions of loops within loops are found from the
/// inside out (regular section descriptors: Noeth, Ratn, Mueller, Schulz, de Supinski, ScalaTrace, JPDC 69 (2009) 696).
class Fold {
 public:
  static constexpr std::size_t longest_body = 1024;
  static constexpr std::uint32_t deepest = 60;

  void start(const Sequence& sequence);
  /// False: there was no room, the event is lost.
  bool append(std::uint32_t event, const Times& times);

 private:
  static constexpr std::size_t most_hashes = 4096;
  static constexpr int most_candidates = 16;

  [[nodiscard]] std::size_t length() const { return *sequence_.length; }
  [[nodiscard]] Node& at(std::size_t index) const { return sequence_.nodes[index]; }
  [[nodiscard]] Node* body(const Node& loop) const { return sequence_.pool + loop.first; }
  void push(std::uint32_t event, const Times& times);
  void drop_last(std::size_t count);
  void link(std::size_t index);
  bool extend_loop();
  bool make_loop();
  void fold_two(std::size_t count);
  [[nodiscard]] static bool are_equal(const Node* left, const Node* right, std::size_t count);
  void merge(Node* into, const Node* from, std::size_t count);
  static void rehash(Node& loop);

  Sequence sequence_{};
  std::int32_t last_loop_ = -1;
  std::int32_t last_[most_hashes] = {};  ///< the last node whose hash falls here
};

}  // namespace commlens::profile

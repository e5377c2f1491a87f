// What the ranks of a node are doing, in memory that they share: whoever notices a stall can say where all of them
// were, even if one of them has been stopped.
#pragma once

#include <atomic>
#include <cstddef>

#include "transport/activity.hpp"
#include "transport/communicator.hpp"

namespace commlens {

class ActivityBoard {
 public:
  /// Collective over the ranks of a node. Where they cannot share memory (POSIX shared memory is needed, of a page or
  /// so), each has a board of its own, with its own place only.
  explicit ActivityBoard(const transport::Communicator& node);
  ActivityBoard(const ActivityBoard&) = delete;
  ActivityBoard& operator=(const ActivityBoard&) = delete;
  ~ActivityBoard();

  [[nodiscard]] bool is_shared() const { return is_shared_; }
  /// Of the ranks whose places are on this board: those of the node, or this one alone.
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] Activity& place(int index) const;
  [[nodiscard]] Activity& own() const { return place(is_shared_ ? rank_ : 0); }
  /// 0 until somebody has spoken for the ranks of the board.
  [[nodiscard]] std::atomic<int>& spoken() const;
  /// True for the first to ask.
  [[nodiscard]] bool may_speak() const;

 private:
  [[nodiscard]] static std::size_t bytes(int ranks);

  int rank_;
  int size_;
  bool is_shared_ = true;
  void* memory_ = nullptr;
};

}  // namespace commlens

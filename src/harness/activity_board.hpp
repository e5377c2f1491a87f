// What the ranks of a node are doing, in memory that they share: whoever notices a stall can say where all of them
// were, even if one of them has been stopped.
#pragma once

#include <atomic>
#include <memory>

#include "transport/activity.hpp"
#include "transport/communicator.hpp"
#include "transport/shared_memory.hpp"

namespace commlens {

class ActivityBoard {
 public:
  /// Collective over the ranks of a node. Where they cannot share memory (a page each is needed), each has a board of
  /// its own, with its own place only.
  explicit ActivityBoard(const transport::Communicator& node);

  [[nodiscard]] bool is_shared() const { return shared_ != nullptr; }
  /// Of the ranks whose places are on this board: those of the node, or this one alone.
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] Activity& place(int index) const;
  [[nodiscard]] Activity& own() const { return place(is_shared() ? rank_ : 0); }
  /// 0 until somebody has spoken for the ranks of the board.
  [[nodiscard]] std::atomic<int>& spoken() const;
  /// True for the first to ask.
  [[nodiscard]] bool may_speak() const;

 private:
  /// What a rank has on the board. Of the first rank's `spoken` is used.
  struct Place {
    alignas(64) std::atomic<int> spoken{0};
    Activity activity;
  };
  [[nodiscard]] Place& at(int index) const;

  int rank_;
  std::unique_ptr<transport::SharedMemory> shared_;
  std::unique_ptr<Place> private_;  ///< where nothing is shared
  int size_;
};

}  // namespace commlens

#include "harness/activity_board.hpp"

#include <new>
#include <string>

namespace commlens {

ActivityBoard::ActivityBoard(const transport::Communicator& node) : rank_(node.rank()), size_(node.size()) {
  std::string problem;
  shared_ = transport::SharedMemory::make(node, sizeof(Place), problem);
  if (shared_) {
    new (shared_->of(rank_)) Place;
    node.barrier();
  } else {
    private_ = std::make_unique<Place>();
    size_ = 1;
  }
}

ActivityBoard::Place& ActivityBoard::at(int index) const {
  return shared_ ? *std::launder(reinterpret_cast<Place*>(shared_->of(index))) : *private_;
}

Activity& ActivityBoard::place(int index) const { return at(index).activity; }

std::atomic<int>& ActivityBoard::spoken() const { return at(0).spoken; }

bool ActivityBoard::may_speak() const {
  int nobody = 0;
  return spoken().compare_exchange_strong(nobody, 1);
}

}  // namespace commlens

#include "trace/slots.hpp"

#include <algorithm>

namespace commlens::profile {

int Slots::take(std::uintptr_t handle) {
  while (lowest_free_ < capacity && slots_[lowest_free_].is_used) ++lowest_free_;
  if (lowest_free_ == capacity) return none;
  const int slot = lowest_free_++;
  std::int32_t& first = first_[bucket(handle)];
  slots_[slot] = {.handle = handle, .waiting_event = 0, .next = first, .is_used = true, .is_marked = false};
  first = slot + 1;
  return slot;
}

int Slots::find(std::uintptr_t handle) const {
  for (std::int32_t next = first_[bucket(handle)]; next != 0; next = slots_[next - 1].next) {
    const Slot& slot = slots_[next - 1];
    if (slot.handle == handle && !slot.is_marked) return next - 1;
  }
  return none;
}

void Slots::mark(int slot) {
  slots_[slot].is_marked = true;
  marked_[marked_count_++] = slot;
}

void Slots::unmark_all() {
  while (marked_count_ > 0) slots_[marked_[--marked_count_]].is_marked = false;
}

void Slots::release(int slot) {
  std::int32_t* next = &first_[bucket(slots_[slot].handle)];
  while (*next != slot + 1) next = &slots_[*next - 1].next;
  *next = slots_[slot].next;
  slots_[slot].is_used = false;
  lowest_free_ = std::min(slot, lowest_free_);
}

}  // namespace commlens::profile

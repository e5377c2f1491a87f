// Numbers for handles that a program has in use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace commlens::profile {

/// The smallest number that is free goes to the next handle. Several may be in use with the same handle: MPICH gives
/// one to all requests that are complete from the beginning.
class Slots {
 public:
  static constexpr int capacity = 65536;
  static constexpr int none = -1;

  /// `none` where too many are in use.
  int take(std::uintptr_t handle);
  /// The number of the handle that has been in use for the shortest time; `none` if it is unknown. Numbers that are
  /// marked are passed over.
  [[nodiscard]] int find(std::uintptr_t handle) const;
  /// So that find() gives another number for the same handle; until the next unmark_all().
  void mark(int slot);
  void unmark_all();
  void release(int slot);

  /// The event, as a position in the sequence of all, that waits for the message of this slot; 0: none.
  [[nodiscard]] std::uint64_t waiting_event(int slot) const { return slots_[slot].waiting_event; }
  void set_waiting_event(int slot, std::uint64_t event) { slots_[slot].waiting_event = event; }

 private:
  struct Slot {
    std::uintptr_t handle;
    std::uint64_t waiting_event;
    std::int32_t next;  ///< plus 1, with the same hash
    bool is_used;
    bool is_marked;
  };
  static constexpr int buckets = 4096;

  [[nodiscard]] static int bucket(std::uintptr_t handle) {
    return static_cast<int>((handle * 0x9E3779B97F4A7C15U) >> 52U);
  }

  Slot slots_[capacity] = {};
  std::int32_t first_[buckets] = {};  ///< plus 1
  std::int32_t marked_[capacity] = {};
  int marked_count_ = 0;
  int lowest_free_ = 0;  ///< none below it is free
};

}  // namespace commlens::profile

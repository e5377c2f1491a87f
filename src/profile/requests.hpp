// Persistent requests, and what each start of one sends.
#pragma once

#include <atomic>
#include <cstdint>

#include "counters.hpp"

namespace commlens::profile {

struct Message {
  std::uint64_t bytes;
  int peer;  // a rank of MPI_COMM_WORLD, or Peers::none
};

/// A hash table of fixed size. A request uses one of a few adjacent slots.
class Requests {
 public:
  void remember(std::uintptr_t request, Message message);
  void forget(std::uintptr_t request);
  /// Whether the request is known; then sets `message`.
  bool find(std::uintptr_t request, Message& message);
  /// The number of requests for which there was no slot.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  Count dropped_ = 0;
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
};

}  // namespace commlens::profile

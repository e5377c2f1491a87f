#include "requests.hpp"

#include <cstddef>

namespace commlens::profile {
namespace {

constexpr std::size_t max_requests = 2048;
constexpr std::size_t max_probes = 16;

struct Slot {
  std::uintptr_t request;  // 0: free; no MPI uses 0 for a request that can be started
  Message message;
};
Slot slots[max_requests];

/// The slot with `request` among those that `home` can use, or null. Request 0 finds a free slot.
Slot* find_slot(std::uintptr_t home, std::uintptr_t request) {
  const std::size_t first = (home * 0x9E3779B97F4A7C15U) >> 40U;
  for (std::size_t probe = 0; probe < max_probes; ++probe) {
    Slot& slot = slots[(first + probe) % max_requests];
    if (slot.request == request) return &slot;
  }
  return nullptr;
}

}  // namespace

void Requests::remember(std::uintptr_t request, Message message) {
  const ScopedLock lock(lock_);
  Slot* slot = find_slot(request, request);
  if (slot == nullptr) slot = find_slot(request, 0);
  if (slot != nullptr) {
    *slot = {request, message};
  } else {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Requests::forget(std::uintptr_t request) {
  const ScopedLock lock(lock_);
  if (Slot* slot = find_slot(request, request)) slot->request = 0;
}

bool Requests::find(std::uintptr_t request, Message& message) {
  const ScopedLock lock(lock_);
  const Slot* slot = find_slot(request, request);
  if (slot != nullptr) message = slot->message;
  return slot != nullptr;
}

}  // namespace commlens::profile

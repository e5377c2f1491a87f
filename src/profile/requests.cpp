#include "requests.hpp"

#include "locked.hpp"

namespace commlens::profile {
namespace {

constexpr std::size_t most_requests = 2048;
constexpr std::size_t neighbours = 16;

struct Slot {
  std::uintptr_t request;  // 0: free, as no MPI has such a handle for a request that can be started
  Message message;
};
Slot slots[most_requests];

/// The slot of the request, or null: with request 0, the first free one among those in which `home` may stand.
Slot* find_slot(std::uintptr_t home, std::uintptr_t request) {
  const std::size_t first = (home * 0x9E3779B97F4A7C15U) >> 40U;
  for (std::size_t step = 0; step < neighbours; ++step) {
    Slot& slot = slots[(first + step) % most_requests];
    if (slot.request == request) return &slot;
  }
  return nullptr;
}

}  // namespace

void Requests::remember(std::uintptr_t request, Message message) {
  const Locked locked(lock_);
  Slot* slot = find_slot(request, request);
  if (slot == nullptr) slot = find_slot(request, 0);
  if (slot != nullptr) {
    *slot = {request, message};
  } else {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Requests::forget(std::uintptr_t request) {
  const Locked locked(lock_);
  if (Slot* slot = find_slot(request, request)) slot->request = 0;
}

bool Requests::find(std::uintptr_t request, Message& message) {
  const Locked locked(lock_);
  const Slot* slot = find_slot(request, request);
  if (slot != nullptr) message = slot->message;
  return slot != nullptr;
}

}  // namespace commlens::profile

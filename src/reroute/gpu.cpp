#include "gpu.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "preload/memory_kind.hpp"
#include "reroute.hpp"
#include "symbols.hpp"

namespace commlens::reroute {
namespace {

// The same numbers in CUDA and HIP.
constexpr unsigned non_blocking = 1;    // a stream that does not wait for the legacy default stream by itself
constexpr unsigned without_timing = 2;  // an event
constexpr unsigned portable = 1;        // pinned memory of all contexts
constexpr int not_ready = 600;
constexpr int hip_copy_default = 4;
constexpr int max_devices = 16;

/// The functions, which return 0 for success.
struct Api {
  bool is_hip;
  int (*stream_create)(Stream*, unsigned);
  int (*stream_synchronize)(Stream);
  int (*stream_wait_event)(Stream, Event, unsigned);
  int (*event_create)(Event*, unsigned);
  int (*event_record)(Event, Stream);
  int (*event_query)(Event);
  int (*mem_alloc)(void**, std::size_t);
  int (*host_alloc)(void**, std::size_t, unsigned);
  int (*mem_free)(void*);
  int (*host_free)(void*);
  int (*get_uuid)(void*, int);
  // CUDA
  int (*copy)(void*, const void*, std::size_t, Stream);
  int (*get_context)(void**);
  int (*set_context)(void*);
  int (*retain_context)(void**, int);
  int (*get_context_state)(int, unsigned*, int*);
  int (*get_attributes)(unsigned, int*, void**, unsigned long long);
  // HIP
  int (*hip_copy)(void*, const void*, std::size_t, int, Stream);
  int (*get_device)(int*);
  int (*set_device)(int);
};
Api api;
std::atomic<bool> is_api_found = false;

bool find_cuda(void* library) {
  return find_symbol(library, api.stream_create, "cuStreamCreate") &&
         find_symbol(library, api.stream_synchronize, "cuStreamSynchronize") &&
         find_symbol(library, api.stream_wait_event, "cuStreamWaitEvent") &&
         find_symbol(library, api.event_create, "cuEventCreate") &&
         find_symbol(library, api.event_record, "cuEventRecord") &&
         find_symbol(library, api.event_query, "cuEventQuery") &&
         find_symbol(library, api.mem_alloc, "cuMemAlloc_v2") &&
         find_symbol(library, api.host_alloc, "cuMemHostAlloc") && find_symbol(library, api.mem_free, "cuMemFree_v2") &&
         find_symbol(library, api.host_free, "cuMemFreeHost") &&
         find_symbol(library, api.get_uuid, "cuDeviceGetUuid") && find_symbol(library, api.copy, "cuMemcpyAsync") &&
         find_symbol(library, api.get_context, "cuCtxGetCurrent") &&
         find_symbol(library, api.set_context, "cuCtxSetCurrent") &&
         find_symbol(library, api.retain_context, "cuDevicePrimaryCtxRetain") &&
         find_symbol(library, api.get_context_state, "cuDevicePrimaryCtxGetState") &&
         find_symbol(library, api.get_attributes, "cuPointerGetAttributes");
}

bool find_hip(void* library) {
  return find_symbol(library, api.stream_create, "hipStreamCreateWithFlags") &&
         find_symbol(library, api.stream_synchronize, "hipStreamSynchronize") &&
         find_symbol(library, api.stream_wait_event, "hipStreamWaitEvent") &&
         find_symbol(library, api.event_create, "hipEventCreateWithFlags") &&
         find_symbol(library, api.event_record, "hipEventRecord") &&
         find_symbol(library, api.event_query, "hipEventQuery") && find_symbol(library, api.mem_alloc, "hipMalloc") &&
         find_symbol(library, api.host_alloc, "hipHostMalloc") && find_symbol(library, api.mem_free, "hipFree") &&
         find_symbol(library, api.host_free, "hipHostFree") && find_symbol(library, api.get_uuid, "hipDeviceGetUuid") &&
         find_symbol(library, api.hip_copy, "hipMemcpyAsync") && find_symbol(library, api.get_device, "hipGetDevice") &&
         find_symbol(library, api.set_device, "hipSetDevice");
}

bool find_api() {
  if (is_api_found) return true;
  const preload::Driver driver = preload::loaded_driver();
  api.is_hip = driver.is_hip;
  is_api_found = driver.handle != nullptr && (driver.is_hip ? find_hip(driver.handle) : find_cuda(driver.handle));
  return is_api_found;
}

std::atomic_flag devices_lock = ATOMIC_FLAG_INIT;
Device devices[max_devices];

}  // namespace

OnDevice::OnDevice(const Device& device) {
  if (api.is_hip) {
    api.get_device(&device_before_);
    is_changed_ = device_before_ != device.number_;
    if (is_changed_) api.set_device(device.number_);
  } else {
    api.get_context(&context_before_);
    is_changed_ = context_before_ != device.context_;
    if (is_changed_) api.set_context(device.context_);
  }
}

OnDevice::~OnDevice() {
  if (!is_changed_) return;
  if (api.is_hip) {
    api.set_device(device_before_);
  } else {
    api.set_context(context_before_);
  }
}

Device* Device::of(int number) {
  if (number < 0 || number >= max_devices) return nullptr;
  const ScopedLock lock(devices_lock);
  if (!find_api()) return nullptr;
  Device& device = devices[number];
  if (device.number_ == number) return &device;
  if (!api.is_hip && api.retain_context(&device.context_, number) != 0) return nullptr;
  device.number_ = number;
  const OnDevice current(device);
  device.copy_stream_ = make_stream();
  const bool has_event = api.event_create(&device.default_stream_event_, without_timing) == 0;
  if (device.copy_stream_ != nullptr && has_event) return &device;
  device.number_ = -1;
  return nullptr;
}

bool Device::is_primary(const void* memory, int number) {
  const ScopedLock lock(devices_lock);
  if (!find_api() || number < 0 || number >= max_devices) return false;
  if (api.is_hip) return true;
  constexpr int attribute_context = 1;
  int attributes[] = {attribute_context};
  void* context = nullptr;
  void* values[] = {static_cast<void*>(&context)};
  const auto address = reinterpret_cast<unsigned long long>(memory);
  if (api.get_attributes(1, attributes, values, address) != 0 || context == nullptr) return true;  // of none
  if (devices[number].number_ == number) return context == devices[number].context_;
  unsigned flags = 0;
  int is_active = 0;
  void* primary = nullptr;
  // It is not made where the program has none.
  if (api.get_context_state(number, &flags, &is_active) != 0 || is_active == 0) return false;
  return api.retain_context(&primary, number) == 0 && context == primary;
}

std::uint64_t Device::identity() const {
  unsigned char uuid[16] = {};
  if (api.get_uuid(uuid, number_) != 0) return 0;
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const unsigned char byte : uuid) hash = (hash ^ byte) * 1099511628211U;
  return hash;
}

Stream Device::make_stream() {
  Stream stream = nullptr;
  return api.stream_create(&stream, non_blocking) == 0 ? stream : nullptr;
}

bool Device::wait_for_default_stream(Stream stream) {
  const ScopedLock lock(lock_);
  return api.event_record(default_stream_event_, nullptr) == 0 &&
         api.stream_wait_event(stream, default_stream_event_, 0) == 0;
}

bool Device::enqueue_copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return true;
  if (!wait_for_default_stream(copy_stream_)) return false;
  if (api.is_hip) return api.hip_copy(to, from, bytes, hip_copy_default, copy_stream_) == 0;
  return api.copy(to, from, bytes, copy_stream_) == 0;
}

bool Device::wait_for_copies() { return api.stream_synchronize(copy_stream_) == 0; }

Event Device::take_event() {
  const ScopedLock lock(lock_);
  if (event_count_ > 0) return events_[--event_count_];
  Event event = nullptr;
  return api.event_create(&event, without_timing) == 0 ? event : nullptr;
}

void Device::give_back(Event event) {
  const ScopedLock lock(lock_);
  if (event_count_ < max_events) events_[event_count_++] = event;
}

bool Device::record(Event event, Stream stream) { return api.event_record(event, stream) == 0; }

Device::State Device::state_of(Event event) {
  const int answer = api.event_query(event);
  return answer == 0 ? State::done : answer == not_ready ? State::running : State::failed;
}

void* BufferPool::allocate(std::size_t bytes) const {
  void* memory = nullptr;
  const int failed = is_pinned_ ? api.host_alloc(&memory, bytes, portable) : api.mem_alloc(&memory, bytes);
  return failed == 0 ? memory : nullptr;
}

bool BufferPool::deallocate(void* memory) const {
  return (is_pinned_ ? api.host_free(memory) : api.mem_free(memory)) == 0;
}

bool BufferPool::is_any_used() const {
  return std::any_of(std::begin(slots_), std::end(slots_), [](const Slot& slot) { return slot.is_used; });
}

void BufferPool::free_idle() {
  for (Slot& slot : slots_) {
    if (slot.memory == nullptr || slot.is_used) continue;
    if (deallocate(slot.memory)) slot = {};
  }
}

/// The smallest idle one.
BufferPool::Slot* BufferPool::find(std::size_t bytes) {
  Slot* best = nullptr;
  for (Slot& slot : slots_) {
    const bool is_good = slot.memory != nullptr && !slot.is_used && slot.bytes >= bytes;
    if (is_good && (best == nullptr || slot.bytes < best->bytes)) best = &slot;
  }
  return best;
}

BufferPool::Slot* BufferPool::make(std::size_t bytes) {
  constexpr std::size_t large = std::size_t{64} << 20U;
  constexpr std::size_t page = std::size_t{2} << 20U;
  // Few sizes serve all calls, but not where half of the memory could be unused.
  const std::size_t rounded = bytes <= large ? std::bit_ceil(bytes) : (bytes + page - 1) / page * page;
  if (bytes > large && !is_any_used()) free_idle();
  void* memory = allocate(rounded);
  if (memory == nullptr) {
    free_idle();
    memory = allocate(rounded);
  }
  if (memory == nullptr) return nullptr;
  auto* slot = std::find_if(std::begin(slots_), std::end(slots_), [](const Slot& each) { return !each.memory; });
  if (slot == std::end(slots_)) {
    static_cast<void>(deallocate(memory));
    return nullptr;
  }
  *slot = {memory, rounded, false};
  return slot;
}

void* BufferPool::take(std::size_t bytes) {
  const ScopedLock lock(lock_);
  Slot* slot = find(bytes);
  if (slot == nullptr) slot = make(bytes);
  if (slot == nullptr) return nullptr;
  slot->is_used = true;
  return slot->memory;
}

void BufferPool::give_back(const void* memory) {
  const ScopedLock lock(lock_);
  for (Slot& slot : slots_) {
    if (slot.memory == memory && memory != nullptr) slot.is_used = false;
  }
}

}  // namespace commlens::reroute

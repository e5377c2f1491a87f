// A GPU that is none: libcuda.so.1 with the functions of CUDA's driver that commlens reroute and the test programs
// call. Device memory is memory of the host of which it is known that it is the device's. Streams are threads: work is
// done later, and in order. All streams behave as if they were made with CU_STREAM_NON_BLOCKING.
#include "fake_gpu.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>

namespace {

constexpr int success = 0;
constexpr int invalid = 1;
constexpr int out_of_memory = 2;
constexpr int not_ready = 600;

enum Kind { pageable, pinned, device, managed };

struct Allocation {
  std::size_t bytes;
  Kind kind;
  int device;
  void* context;
};

struct Context {
  int device;
};
Context contexts[16];  // the primary ones
Context other_contexts[16];
thread_local Context* current = nullptr;

std::mutex memory_lock;
std::map<const char*, Allocation>& allocations() {
  static auto* all = new std::map<const char*, Allocation>;  // used while the process ends
  return *all;
}

Allocation find(const void* pointer) {
  const std::lock_guard lock(memory_lock);
  const auto* address = static_cast<const char*>(pointer);
  auto place = allocations().upper_bound(address);
  if (place == allocations().begin()) return {0, pageable, 0, nullptr};
  --place;
  return address < place->first + place->second.bytes ? place->second : Allocation{0, pageable, 0, nullptr};
}

int allocate(void** pointer, std::size_t bytes, Kind kind) {
  if (current == nullptr || bytes == 0) return invalid;
  const char* full = std::getenv("FAKE_GPU_NO_PINNED");  // the number of a GPU
  if (kind == pinned && full != nullptr && std::atoi(full) == current->device) return out_of_memory;
  const std::lock_guard lock(memory_lock);
  std::size_t allocated = bytes;
  for (const auto& [address, each] : allocations()) allocated += each.kind == kind ? each.bytes : 0;
  const char* most = std::getenv("FAKE_GPU_BYTES");  // of its memory
  if (kind == device && most != nullptr && allocated > std::strtoull(most, nullptr, 10)) return out_of_memory;
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  allocations()[static_cast<const char*>(*pointer)] = {bytes, kind, current->device, current};
  return success;
}

class Stream {
 public:
  Stream() {
    std::thread([this] { work(); }).detach();
  }

  std::uint64_t enqueue(std::function<void()> task) {
    const std::lock_guard lock(lock_);
    tasks_.push(std::move(task));
    changed_.notify_all();
    return ++enqueued_;
  }
  std::uint64_t enqueued() {
    const std::lock_guard lock(lock_);
    return enqueued_;
  }
  bool has_done(std::uint64_t number) {
    const std::lock_guard lock(lock_);
    return done_ >= number;
  }
  void wait(std::uint64_t number) {
    std::unique_lock lock(lock_);
    changed_.wait(lock, [&] { return done_ >= number; });
  }

 private:
  void work() {
    std::unique_lock lock(lock_);
    for (;;) {
      changed_.wait(lock, [&] { return !tasks_.empty(); });
      auto task = std::move(tasks_.front());
      tasks_.pop();
      lock.unlock();
      task();
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex lock_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> tasks_;
  std::uint64_t enqueued_ = 0;
  std::uint64_t done_ = 0;
};

Stream& stream_of(void* handle) {
  static auto* default_stream = new Stream;
  return handle != nullptr ? *static_cast<Stream*>(handle) : *default_stream;
}

std::atomic<std::size_t> staged_bytes[2];  // from the GPU, and to it

struct Event {
  Stream* stream = nullptr;
  std::uint64_t number = 0;
};

}  // namespace

extern "C" {

int cuInit(unsigned) { return success; }
int cuDevicePrimaryCtxRetain(void** context, int number) {
  if (number < 0 || number >= 16) return invalid;
  contexts[number].device = number;
  *context = &contexts[number];
  return success;
}
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = 1;
  return success;
}
int cuCtxSetCurrent(void* context) {
  current = static_cast<Context*>(context);
  return success;
}
int cuCtxGetCurrent(void** context) {
  *context = current;
  return success;
}
int cuCtxGetDevice(int* number) {
  if (current == nullptr) return invalid;
  *number = current->device;
  return success;
}
int cuDeviceGetUuid(void* uuid, int number) {
  std::memset(uuid, 0, 16);
  const char* shared = std::getenv("FAKE_GPU_SHARED");  // all ranks have the same one
  static_cast<char*>(uuid)[0] = static_cast<char>(shared != nullptr ? 1 : number + 1);
  return success;
}

int cuMemAlloc_v2(void** pointer, std::size_t bytes) { return allocate(pointer, bytes, device); }
int cuMemAllocManaged(void** pointer, std::size_t bytes, unsigned) { return allocate(pointer, bytes, managed); }
int cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) { return allocate(pointer, bytes, pinned); }
int cuMemFree_v2(void* pointer) {
  const std::lock_guard lock(memory_lock);
  if (allocations().erase(static_cast<const char*>(pointer)) == 0) return invalid;
  std::free(pointer);
  return success;
}
int cuMemFreeHost(void* pointer) { return cuMemFree_v2(pointer); }

int cuPointerGetAttributes(unsigned count, int* attributes, void** values, unsigned long long pointer) {
  const Allocation found = find(reinterpret_cast<const void*>(pointer));
  for (unsigned index = 0; index < count; ++index) {
    if (attributes[index] == 1) *static_cast<void**>(values[index]) = found.context;
    auto* value = static_cast<int*>(values[index]);
    if (attributes[index] == 2) *value = found.kind == pageable ? 0 : found.kind == pinned ? 1 : 2;
    if (attributes[index] == 8) *value = found.kind == managed ? 1 : 0;
    if (attributes[index] == 9) *value = found.device;
  }
  return success;
}

int cuStreamCreate(void** stream, unsigned) {
  if (current == nullptr) return invalid;
  *stream = new Stream;
  return success;
}
int cuStreamSynchronize(void* stream) {
  stream_of(stream).wait(stream_of(stream).enqueued());
  return success;
}
int cuEventCreate(void** event, unsigned) {
  if (current == nullptr) return invalid;
  *event = new Event;
  return success;
}
int cuEventRecord(void* event, void* stream) {
  *static_cast<Event*>(event) = {&stream_of(stream), stream_of(stream).enqueued()};
  return success;
}
int cuEventQuery(void* event) {
  const auto* recorded = static_cast<Event*>(event);
  return recorded->stream->has_done(recorded->number) ? success : not_ready;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  const Event recorded = *static_cast<Event*>(event);
  stream_of(stream).enqueue([recorded] { recorded.stream->wait(recorded.number); });
  return success;
}

int cuMemcpyAsync(void* to, const void* from, std::size_t bytes, void* stream) {
  stream_of(stream).enqueue([=] { std::memcpy(to, from, bytes); });
  const Kind target = find(to).kind;
  const Kind source = find(from).kind;
  if (source == device && target == pinned) staged_bytes[0] += bytes;
  if (source == pinned && target == device) staged_bytes[1] += bytes;
  const bool waits = target == pageable || source == pageable;
  return waits ? cuStreamSynchronize(stream) : success;
}

void fake_gpu_enqueue(void* stream, void (*run)(void*), void* argument) {
  stream_of(stream).enqueue([=] { run(argument); });
}

size_t fake_gpu_staged_bytes(int to_gpu) { return staged_bytes[to_gpu]; }

void fake_gpu_use(int number) {
  void* context = nullptr;
  cuDevicePrimaryCtxRetain(&context, number);
  cuCtxSetCurrent(context);
}

void fake_gpu_use_other_context(int number) {
  other_contexts[number].device = number;
  cuCtxSetCurrent(&other_contexts[number]);
}

int hipDrvPointerGetAttributes(unsigned count, int* attributes, void** values, unsigned long long pointer) {
  return cuPointerGetAttributes(count, attributes, values, pointer);
}
int hipStreamCreateWithFlags(void** stream, unsigned flags) { return cuStreamCreate(stream, flags); }
int hipStreamSynchronize(void* stream) { return cuStreamSynchronize(stream); }
int hipStreamWaitEvent(void* stream, void* event, unsigned flags) { return cuStreamWaitEvent(stream, event, flags); }
int hipEventCreateWithFlags(void** event, unsigned flags) { return cuEventCreate(event, flags); }
int hipEventRecord(void* event, void* stream) { return cuEventRecord(event, stream); }
int hipEventQuery(void* event) { return cuEventQuery(event); }
int hipMalloc(void** pointer, std::size_t bytes) { return cuMemAlloc_v2(pointer, bytes); }
int hipHostMalloc(void** pointer, std::size_t bytes, unsigned flags) { return cuMemHostAlloc(pointer, bytes, flags); }
int hipFree(void* pointer) { return cuMemFree_v2(pointer); }
int hipHostFree(void* pointer) { return cuMemFree_v2(pointer); }
int hipDeviceGetUuid(void* uuid, int number) { return cuDeviceGetUuid(uuid, number); }
int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  return kind == 4 ? cuMemcpyAsync(to, from, bytes, stream) : invalid;
}
int hipGetDevice(int* number) {
  if (current == nullptr) fake_gpu_use(0);
  return cuCtxGetDevice(number);
}
int hipSetDevice(int number) {
  fake_gpu_use(number);
  return success;
}
}

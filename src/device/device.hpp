// Memory, streams, events, matrix products and Fourier transforms of the device that a rank computes on: the host
// alone, or the host and one GPU.
//
// A stream is an ordered queue of work, which is complete only after a wait, on the host as on a GPU. Host streams are
// lazy: they run their queue in the thread that waits. So a missing wait gives a wrong result on a laptop, too, every
// time, and a host stream needs no thread. Where work must proceed while the host does something else, there are
// concurrent streams, which on the host have a thread of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"

namespace commlens::device {

/// Where a buffer lies: host (pageable), pinned (page-locked host memory), device (the GPU's own), managed (migrates on
/// access).
enum class Memory { host, pinned, device, managed };

ENUM_NAMES(Memory, {host, "host"}, {pinned, "pinned"}, {device, "device"}, {managed, "managed"});

/// Whether kernels on a GPU, not loops on the host, work on the memory.
constexpr bool on_gpu(Memory memory) { return memory == Memory::device || memory == Memory::managed; }

/// The order in which a kernel passes over its data. A GPU's cache still holds what the kernel before has accessed
/// last: consecutive kernels over the same data find it there if they go in opposite directions. On the host all go
/// forward.
enum class Traversal { forward, backward };

/// Bytes in one of the memories, aligned to a page or more where it owns them. Movable only; a default-constructed one
/// is empty.
class Buffer {
 public:
  using Free = void (*)(void* data, std::size_t bytes) noexcept;

  Buffer() = default;
  /// Owns nothing where there is no `free`.
  Buffer(void* data, std::size_t bytes, Memory memory, Free free = nullptr)
      : data_(data, Release{free, bytes}), memory_(memory) {}

  [[nodiscard]] void* data() const { return data_.get(); }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_.get());
  }
  [[nodiscard]] std::size_t bytes() const { return data_.get_deleter().bytes; }
  [[nodiscard]] Memory memory() const { return memory_; }

 private:
  struct Release {
    Free free;
    std::size_t bytes;
    void operator()(void* data) const noexcept {
      if (free != nullptr) free(data, bytes);
    }
  };

  std::unique_ptr<void, Release> data_;
  Memory memory_ = Memory::host;
};

/// Allocates in a memory that its owner has chosen.
using Allocate = std::function<Buffer(std::size_t bytes)>;

/// A point in a stream's queue. Recording an event again moves it.
class Event {
 public:
  virtual ~Event() = default;
  /// Returns once all work before the point is complete. An event that was never recorded counts as complete.
  virtual void wait() = 0;
  /// Seconds from `earlier` to this one on the device's own clock. Both must be recorded on streams of one device.
  /// Waits for both.
  virtual double seconds_since(Event& earlier) = 0;
};

class Stream;

/// Work of a GPU's stream that was recorded, and is added to a stream by one call (CUDA graphs, HIP graphs). What the
/// work uses must outlive it.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual void launch(Stream& stream) = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;

  /// Returns once everything in the queue is complete.
  virtual void wait() = 0;
  /// Whether everything in the queue is complete; returns at once on a GPU. A stream of the host waits first.
  [[nodiscard]] virtual bool complete() {
    wait();
    return true;
  }
  /// Whether nothing was added since the last wait, so that there is nothing to wait for. Asked before each call of
  /// MPI, so it is not virtual.
  [[nodiscard]] bool idle() const { return !busy_; }
  /// From any memory to any memory of this device, or of a GPU that it can reach. The ranges must not overlap.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Sets every byte to `value`.
  virtual void fill(void* data, unsigned char value, std::size_t bytes) = 0;
  /// Calls `work` on the host, in the order of the queue. It must not throw and must not use a stream.
  virtual void enqueue(std::function<void()> work) = 0;
  virtual void record(Event& event) = 0;
  /// Later work of this stream waits for the event; the host does not.
  virtual void wait_for(Event& event) = 0;
  /// Whether a GPU does the work; otherwise the host does.
  [[nodiscard]] virtual bool on_gpu() const = 0;
  /// Records what `work` adds to this stream instead of doing it now. `work` must not wait, and must have been done
  /// before: kernels are loaded and libraries allocate when they are first used. nullptr, and `work` is not called,
  /// where a stream has no graphs: on the host.
  [[nodiscard]] virtual std::unique_ptr<Graph> capture(const std::function<void()>& /*work*/) { return nullptr; }
  /// The GPU's stream (cudaStream_t or hipStream_t), for callers that are about to add work to it: the stream counts as
  /// busy afterwards. nullptr for a stream of the host.
  virtual void* native() = 0;

 protected:
  bool busy_ = false;
};

class Blas;
class Fft;
struct FftShape;

/// Of a GPU's streams: where several have work that is ready, that of a higher priority starts first.
enum class Priority { normal, high };
ENUM_NAMES(Priority, {high, "high"}, {normal, "normal"});

/// What a GPU may take. Less than the default makes it slower.
struct PowerLimit {
  double watts = 0;
  double default_watts = 0;
};

/// What keeps a GPU's clock below the highest: the power it may take, its temperature, or a clock that somebody has
/// set.
enum class ClockLimit { power, temperature, setting };
ENUM_NAMES(ClockLimit, {power, "power"}, {temperature, "temperature"}, {setting, "setting"});

/// Of a GPU's multiprocessors, now.
struct Clock {
  double MHz = 0;
  double highest_MHz = 0;  ///< that this GPU can have
  std::set<ClockLimit> limits;
};

/// A process that computes on a GPU.
struct GpuProcess {
  int number = 0;                     ///< as the driver has it
  std::optional<double> utilization;  ///< its share of the multiprocessors' time, lately, where the driver says it
};

struct GpuProperties {
  int ordinal = 0;
  std::string name;
  std::string uuid;  ///< the same in every process that sees the GPU
  std::string pci;   ///< as in /sys/bus/pci/devices: "0000:1b:00.0"
  std::uint64_t memory_bytes = 0;
  std::optional<PowerLimit> power_limit = std::nullopt;  ///< where the driver says it
};

/// Makes buffers, streams and events. All of them may outlive it. Throws Error (error.hpp) if a call fails.
class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual bool has(Memory memory) const = 0;
  /// Bytes that are free, for all ranks that share the memory.
  [[nodiscard]] virtual std::size_t available(Memory memory) const = 0;
  /// Not initialized. 0 bytes are allowed.
  [[nodiscard]] virtual Buffer allocate(Memory memory, std::size_t bytes) = 0;
  /// A stream for work on buffers of `memory`: the host's for host and pinned, the GPU's for device and managed.
  [[nodiscard]] virtual std::unique_ptr<Stream> stream(Memory memory) = 0;
  /// The same, for work that proceeds while the host does something else. All streams of a GPU do; on the host the
  /// stream has a thread of its own, and the priority is ignored.
  [[nodiscard]] virtual std::unique_ptr<Stream> concurrent_stream(Memory memory, Priority priority) = 0;
  /// Matrix products on buffers and streams of `memory` (blas.hpp). On the host with `threads` threads, unless the user
  /// has set their number in the environment (OMP_NUM_THREADS and the like). Slow: for set-up.
  [[nodiscard]] virtual std::unique_ptr<Blas> blas(Memory memory, int threads) = 0;
  /// Fourier transforms on buffers and streams of `memory` (fft.hpp). Planning is slow and needs temporary memory: for
  /// set-up. Plans are made and destroyed by one thread at a time. On the host transforms run in one thread. Throws
  /// std::invalid_argument for a type that is not complex, and unless there are one or two lengths; Error for a length
  /// of 0 or of 2^31 or more, for more elements than memory can hold, and if a call fails.
  [[nodiscard]] virtual std::unique_ptr<Fft> fft(Memory memory, const FftShape& shape) = 0;
  /// An event for streams of `memory`.
  [[nodiscard]] virtual std::unique_ptr<Event> event(Memory memory) = 0;
  [[nodiscard]] virtual const GpuProperties* gpu() const = 0;  ///< nullptr: the host alone
  /// Of the GPU, where the driver says it. Takes some microseconds.
  [[nodiscard]] virtual std::optional<Clock> clock() const { return std::nullopt; }
  /// Those that compute on the GPU, this one too, where the driver says it.
  [[nodiscard]] virtual std::vector<GpuProcess> processes() const { return {}; }
  /// For messages that are staged through the host: pinned if there is a GPU.
  [[nodiscard]] Memory staging_memory() const { return has(Memory::pinned) ? Memory::pinned : Memory::host; }
  /// Makes its GPU the current one of the thread, which MPI and NCCL use. Every rank calls it once, for its own device,
  /// not for devices that it opens to copy to a peer's memory.
  virtual void make_current() = 0;
  /// Lets streams of this device copy directly to and from the memory of `peer`. False if the hardware cannot.
  virtual bool reach(const Device& peer) = 0;
};

/// The host alone. Every build has it.
std::unique_ptr<Device> open_host();

/// The GPU backend that is compiled in: "cuda" or "hip", or "host" if there is none.
std::string_view backend();
int gpu_count();  ///< GPUs that this process sees; 0 also without a driver
std::vector<GpuProperties> gpus();
std::unique_ptr<Device> open_gpu(int ordinal);
/// Versions by name for records, such as {"gpu_driver", "13.0"}; empty without a GPU backend.
std::vector<std::pair<std::string, std::string>> gpu_versions();

/// Work that is done again and again alike: as a graph, where the stream has graphs.
class Replay {
 public:
  /// Queues `work`, which must be the same every time: directly the first time, then as a graph, if the stream has any.
  template <class Work>
  void run(Stream& stream, const Work& work) {
    if (graph_ == nullptr && done_before_) graph_ = stream.capture(work);
    done_before_ = true;
    if (graph_ != nullptr) return graph_->launch(stream);
    work();
  }

 private:
  std::unique_ptr<Graph> graph_;
  bool done_before_ = false;
};

}  // namespace commlens::device

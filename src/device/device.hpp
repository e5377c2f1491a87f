// Memory, streams, events, matrix products and Fourier transforms of the one device that a rank computes on: the host
// alone, or the host and one GPU.
//
// A stream is an ordered queue of work. Work handed to a stream has happened only once somebody has waited for it; that
// is as true of the host's streams as of a GPU's. The host's are lazy: they run their queue in the thread that waits.
// So a forgotten wait is a wrong answer on a laptop too, every time, and a host stream costs no thread. Only where work
// must go on while the host does something else, a host stream has a thread of its own: a concurrent stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace commlens::device {

/// Where a buffer lies: host (pageable), pinned (page-locked host), device (the GPU's own), managed (migrates on
/// access).
enum class Memory { host, pinned, device, managed };

std::string_view name(Memory memory);
std::optional<Memory> memory_from(std::string_view wanted);
inline constexpr std::string_view memory_names = "host, pinned, device, managed";

/// True where kernels, not loops on the host, work on the memory.
constexpr bool on_gpu(Memory memory) { return memory == Memory::device || memory == Memory::managed; }

/// Bytes in one of the memories; owns them. Page-aligned at least. Movable only; a default one is empty.
class Buffer {
 public:
  using Free = void (*)(void*) noexcept;

  Buffer() = default;
  Buffer(void* data, std::size_t bytes, Memory memory, Free free) : data_(data, free), bytes_(bytes), memory_(memory) {}

  [[nodiscard]] void* data() const { return data_.get(); }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_.get());
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] Memory memory() const { return memory_; }

 private:
  std::unique_ptr<void, Free> data_{nullptr, [](void*) noexcept {}};
  std::size_t bytes_ = 0;
  Memory memory_ = Memory::host;
};

/// A point in a stream's queue. Record it again to move it.
class Event {
 public:
  virtual ~Event() = default;
  /// Returns once all work before the point has happened. An event never recorded counts as past.
  virtual void wait() = 0;
  /// Seconds from `earlier` to this one on the device's own clock; both must have been recorded on streams of one
  /// device. Waits for both.
  virtual double seconds_since(Event& earlier) = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;

  /// Returns once everything in the queue has happened. Costs next to nothing if nothing was added since the last wait.
  virtual void wait() = 0;
  /// Any memory to any memory of this device (or of another GPU that it reaches); the ranges must not overlap.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Sets every byte to `value`.
  virtual void fill(void* data, unsigned char value, std::size_t bytes) = 0;
  /// A function of the host, called in the queue's order. It must not throw and must not use a stream.
  virtual void enqueue(std::function<void()> work) = 0;
  virtual void record(Event& event) = 0;
  /// Later work of this stream waits for the event; the host does not.
  virtual void wait_for(Event& event) = 0;
  /// The GPU's own stream (cudaStream_t or hipStream_t), for a caller who is about to add work to it: it counts as
  /// added. nullptr: a stream of the host.
  virtual void* native() = 0;
};

class Blas;
class Fft;
struct FftShape;

/// Of the streams of a GPU: work of a higher one is begun first where both have some ready.
enum class Priority { normal, high };

struct GpuProperties {
  int ordinal = 0;
  std::string name;
  std::string uuid;  ///< the same in every process that sees the GPU
  std::string pci;   ///< as in /sys/bus/pci/devices: "0000:1b:00.0"
  std::uint64_t memory_bytes = 0;
};

/// Makes memory, streams and events. All of them may outlive it. Throws Error (error.hpp) where the machine refuses.
class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual bool has(Memory memory) const = 0;
  /// Bytes that can still be allocated, by all ranks that share the memory together.
  [[nodiscard]] virtual std::size_t available(Memory memory) const = 0;
  /// Not initialised. 0 bytes are allowed.
  [[nodiscard]] virtual Buffer allocate(Memory memory, std::size_t bytes) = 0;
  /// A stream for work on buffers of `memory`: the host's for host and pinned, the GPU's for device and managed.
  [[nodiscard]] virtual std::unique_ptr<Stream> stream(Memory memory) = 0;
  /// The same, for work that goes on while the host does something else. On a GPU every stream is of this kind; on the
  /// host it has a thread of its own, which the priority does not matter to.
  [[nodiscard]] virtual std::unique_ptr<Stream> concurrent_stream(Memory memory, Priority priority) = 0;
  /// Matrix products on buffers and streams of `memory` (blas.hpp). Those of the host use `threads` threads, unless the
  /// user has set their number in the environment (OMP_NUM_THREADS and the like). Takes a moment: it is set-up.
  [[nodiscard]] virtual std::unique_ptr<Blas> blas(Memory memory, int threads) = 0;
  /// Fourier transforms of buffers and on streams of `memory` (fft.hpp). Planning takes its time, and its own memory
  /// for a while: it is set-up, done and undone by one thread at a time. Those of the host run in one thread. Throws
  /// std::invalid_argument for a type that is not complex and for no or more than two lengths; Error for a length of 0
  /// or 2^31 or more, for more elements than memory can hold, and where the library or the memory refuses.
  [[nodiscard]] virtual std::unique_ptr<Fft> fft(Memory memory, const FftShape& shape) = 0;
  /// An event for streams of `memory`.
  [[nodiscard]] virtual std::unique_ptr<Event> event(Memory memory) = 0;
  [[nodiscard]] virtual const GpuProperties* gpu() const = 0;  ///< nullptr: the host alone
  /// Where a message waits on the host between a copy and a send: pinned if there is a GPU.
  [[nodiscard]] Memory staging_memory() const { return has(Memory::pinned) ? Memory::pinned : Memory::host; }
  /// Makes its GPU the one that libraries find when they ask for the thread's current GPU: MPI and NCCL do. Every rank
  /// calls it once for its own device; a device opened for a look at a peer's memory leaves it alone.
  virtual void make_current() = 0;
  /// Lets streams of this device copy straight to and from `peer`'s memory, if the hardware can. False: it cannot.
  virtual bool reach(const Device& peer) = 0;
};

/// The host alone: what every build has.
std::unique_ptr<Device> open_host();

/// Of the GPU backend that is compiled in: "cuda", "hip", or "host" where there is none.
std::string_view backend();
int gpu_count();  ///< GPUs that this process sees; 0 also where the driver is missing
std::vector<GpuProperties> gpus();
std::unique_ptr<Device> open_gpu(int ordinal);
/// Versions by name for the record, such as {"driver", "13.0"}; empty without a GPU backend.
std::vector<std::pair<std::string, std::string>> gpu_versions();

}  // namespace commlens::device

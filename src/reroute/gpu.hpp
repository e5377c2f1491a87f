// What the library does on GPUs, through CUDA's driver or HIP's runtime, whichever the program has
// loaded. CUDA's runtime is not used: a program may be linked to a static one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace commlens::reroute {

using Stream = void*;
using Event = void*;

/// Memory that is kept for later calls. Freeing it waits for all work of the GPU, among it what waits for other ranks:
/// so it is freed only where a large buffer is needed while none is used, or where there is no memory left.
class BufferPool {
 public:
  explicit constexpr BufferPool(bool is_pinned) : is_pinned_(is_pinned) {}
  /// Null: there is no memory left.
  void* take(std::size_t bytes);
  void give_back(const void* memory);

 private:
  struct Slot {
    void* memory;
    std::size_t bytes;
    bool is_used;
  };
  static constexpr int max_slots = 128;

  Slot* find(std::size_t bytes);
  Slot* make(std::size_t bytes);
  [[nodiscard]] void* allocate(std::size_t bytes) const;
  [[nodiscard]] bool deallocate(void* memory) const;
  [[nodiscard]] bool is_any_used() const;
  void free_idle();

  bool is_pinned_;
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  Slot slots_[max_slots] = {};
};

/// A GPU that this process uses.
class Device {
 public:
  /// Of the number; null: it cannot be used.
  static Device* of(int number);
  /// Whether memory of that GPU is of its primary context, which NCCL and CUDA's runtime use.
  static bool is_primary(const void* memory, int number);

  [[nodiscard]] int number() const { return number_; }
  /// Tells this GPU from all others, on all hosts.
  [[nodiscard]] std::uint64_t identity() const;

  /// Copies between any kinds of memory, after what the legacy default stream has been given before, and waits.
  bool copy(void* to, const void* from, std::size_t bytes) {
    return enqueue_copy(to, from, bytes) && wait_for_copies();
  }
  /// The same in two steps, for several copies.
  bool enqueue_copy(void* to, const void* from, std::size_t bytes);
  bool wait_for_copies();
  /// Lets the stream wait for what the legacy default stream has been given before.
  bool wait_for_default_stream(Stream stream);

  static Stream make_stream();
  Event take_event();
  void give_back(Event event);
  static bool record(Event event, Stream stream);
  enum class State : std::uint8_t { running, done, failed };
  static State state_of(Event event);

  BufferPool memory{false};
  BufferPool pinned{true};

 private:
  friend class OnDevice;
  static constexpr int max_events = 64;

  void* context_ = nullptr;  // the primary one of CUDA
  int number_ = -1;
  Stream copy_stream_ = nullptr;
  Event default_stream_event_ = nullptr;
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  Event events_[max_events] = {};
  int event_count_ = 0;
};

/// Makes the GPU the thread's current one, as long as this exists.
class OnDevice {
 public:
  explicit OnDevice(const Device& device);
  ~OnDevice();
  OnDevice(OnDevice&&) = delete;

 private:
  void* context_before_ = nullptr;
  int device_before_ = 0;
  bool is_changed_ = false;
};

}  // namespace commlens::reroute

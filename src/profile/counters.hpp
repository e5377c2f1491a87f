// Counters, in static memory of fixed size or mapped when MPI starts: a call allocates nothing.
#pragma once

#include <atomic>
#include <cstdint>

namespace commlens::profile {

/// A profiled function; the list is generated from functions/.
struct Function {
  const char* name;
  const char* group;
  const char* fields;  // of its events in a trace: a letter for each (docs/trace.md)
};
extern constinit const Function functions[];
extern constinit const int function_count;

using Count = std::atomic<std::uint64_t>;

enum class MemoryKind : std::uint8_t { host, pinned, device, managed };
constexpr int memory_kind_count = 4;
constexpr const char* memory_kind_names[memory_kind_count] = {"host", "pinned", "device", "managed"};
constexpr int size_bins = 49;  // bin 0: no bytes; bin b: 2^(b-1) to 2^b - 1; the last: all larger

struct Counters {
  Count calls;
  Count ticks;
  Count max_ticks;
  Count waiting_ticks;
  Count bytes;
  Count communicators;  // calls with a known communicator
  Count communicator_sizes;
  Count smallest_communicator;
  Count largest_communicator;
  Count memory[memory_kind_count];
  Count bins[size_bins];
  Count fastest[size_bins];  // ticks of the fastest call of that size
};

/// A return address.
struct Frame {
  std::uintptr_t address;
  const char* module;   // file of the code
  std::uintptr_t base;  // address at which the file is loaded
};

/// A place in the program that calls an MPI function.
struct CallSite {
  Count key;                  // of function and return addresses, 0: free
  std::atomic<int> function;  // plus 1; 0 until the frames are set
  Count calls;
  Count ticks;
  Count waiting_ticks;
  Count bytes;
};
constexpr int max_call_sites = 2048;
constexpr int max_call_depth = 8;
constexpr int max_functions = 640;  // the generated code checks it

/// Adds without a locked instruction where only one thread can call MPI.
class Adder {
 public:
  explicit Adder(bool multithreaded) : multithreaded_(multithreaded) {}
  void add(Count& count, std::uint64_t amount) const {
    if (multithreaded_) {
      count.fetch_add(amount, std::memory_order_relaxed);
    } else {
      count.store(count.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }
  }
  static void raise(Count& count, std::uint64_t value) {
    std::uint64_t before = count.load(std::memory_order_relaxed);
    while (before < value && !count.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
    }
  }
  /// 0: no value yet.
  static void lower(Count& count, std::uint64_t value) {
    std::uint64_t before = count.load(std::memory_order_relaxed);
    while ((before == 0 || before > value) && !count.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
    }
  }

 private:
  bool multithreaded_;
};

/// A spin lock for threads of MPI_THREAD_MULTIPLE: it is held for a few instructions only.
class ScopedLock {
 public:
  explicit ScopedLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~ScopedLock() { flag_.clear(std::memory_order_release); }
  ScopedLock(ScopedLock&&) = delete;

 private:
  std::atomic_flag& flag_;
};

}  // namespace commlens::profile

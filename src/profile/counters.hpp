// What is counted. All of it lies in static memory of fixed size, or is mapped when MPI starts: a call allocates
// nothing.
#pragma once

#include <atomic>
#include <cstdint>

namespace commlens::profile {

/// A row of functions.txt; generated.
struct Function {
  const char* name;
  const char* group;
};
extern constinit const Function functions[];
extern constinit const int function_count;

using Count = std::atomic<std::uint64_t>;

enum class Memory : std::uint8_t { host, pinned, device, managed };
constexpr int memory_kinds = 4;
constexpr int size_bins = 49;  // bin 0: no bytes; bin b: 2^(b-1) to 2^b - 1 bytes; the last one: all beyond

struct Counters {
  Count calls;
  Count ticks;
  Count most_ticks;
  Count waiting_ticks;
  Count bytes;
  Count communicators;  // calls of which the size of the communicator is known
  Count communicator_sizes;
  Count smallest_communicator;
  Count largest_communicator;
  Count memory[memory_kinds];
  Count bins[size_bins];
};

/// A place in the program from which a function is called.
struct CallSite {
  std::atomic<std::uintptr_t> address;  // 0: free
  std::atomic<int> function;            // -1 until the rest is known
  const char* module;                   // the file that holds the code
  std::uintptr_t base;                  // where the file was loaded
  Count calls;
  Count ticks;
  Count bytes;
};
constexpr int most_call_sites = 2048;
constexpr int most_functions = 640;  // room for all of functions.txt; the generated code checks it

/// Adds without a locked instruction while one thread only may call MPI.
class Adder {
 public:
  explicit Adder(bool threads) : threads_(threads) {}
  void add(Count& count, std::uint64_t amount) const {
    if (threads_) {
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
  /// 0 stands for nothing noted yet.
  static void lower(Count& count, std::uint64_t value) {
    std::uint64_t before = count.load(std::memory_order_relaxed);
    while ((before == 0 || before > value) && !count.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
    }
  }

 private:
  bool threads_;
};

}  // namespace commlens::profile

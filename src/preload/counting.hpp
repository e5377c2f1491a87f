// Counters that several threads may add to.
#pragma once

#include <atomic>
#include <cstdint>

namespace commlens::preload {

using Count = std::atomic<std::uint64_t>;

inline std::uint64_t value_of(const Count& count) { return count.load(std::memory_order_relaxed); }

/// Adds without a locked instruction where only one thread can call MPI.
class Adder {
 public:
  explicit Adder(bool multithreaded) : multithreaded_(multithreaded) {}
  void add(Count& count, std::uint64_t amount) const {
    if (multithreaded_) {
      count.fetch_add(amount, std::memory_order_relaxed);
    } else {
      count.store(value_of(count) + amount, std::memory_order_relaxed);
    }
  }
  static void raise(Count& count, std::uint64_t value) {
    std::uint64_t before = value_of(count);
    while (before < value && !count.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
    }
  }
  /// 0: no value yet.
  static void lower(Count& count, std::uint64_t value) {
    std::uint64_t before = value_of(count);
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

}  // namespace commlens::preload

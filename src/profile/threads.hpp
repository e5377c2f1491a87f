// What each thread is doing, for programs that end within a call and for time per thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "counters.hpp"

namespace commlens::profile {

constexpr int max_open_regions = 8;

/// The requests that a thread has started since it last completed some: the thread's own business.
struct Exchange {
  std::uint64_t last_start;  // ticks; 0: none has been started
  std::uint64_t bytes;       // sent, and room to receive
  bool is_completed;
};

/// A thread that has called MPI. The next thread gets the place of one that has ended.
struct Thread {
  std::atomic<pid_t> id;      // 0: free
  std::atomic<int> function;  // being called, plus 1; 0: none
  Count since;
  std::atomic<CallSite*> call_site;
  Exchange exchange;
  int open_regions;
  int regions[max_open_regions];
  Count region_since[max_open_regions];
};
constexpr int max_threads = 256;  // at a time; what further ones are doing is unknown

class Threads {
 public:
  /// The calling thread's.
  Thread& current() {
    if (current_ == nullptr) current_ = &claim();
    return *current_;
  }
  /// How many there were at a time, at most.
  [[nodiscard]] int count() const { return used_.load(std::memory_order_acquire); }
  [[nodiscard]] const Thread& operator[](int index) const { return threads_[index]; }

 private:
  Thread& claim();

  // A preloaded library can use the fast model of thread-local variables.
  static constinit thread_local Thread* current_ __attribute__((tls_model("initial-exec")));

  Thread threads_[max_threads] = {};
  Thread overflow_ = {};
  std::atomic<int> used_ = 0;
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
};

}  // namespace commlens::profile

// A spin lock for threads of MPI_THREAD_MULTIPLE: it is held for a few instructions only.
#pragma once

#include <atomic>

namespace commlens::profile {

class ScopedLock {
 public:
  explicit ScopedLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~ScopedLock() { flag_.clear(std::memory_order_release); }
  ScopedLock(const ScopedLock&) = delete;
  ScopedLock& operator=(const ScopedLock&) = delete;

 private:
  std::atomic_flag& flag_;
};

}  // namespace commlens::profile

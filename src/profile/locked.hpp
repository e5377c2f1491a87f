// A lock for the few steps that the threads of MPI_THREAD_MULTIPLE must not take at once. It is held for so short a
// time that waiting for it is spinning.
#pragma once

#include <atomic>

namespace commlens::profile {

class Locked {
 public:
  explicit Locked(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Locked() { flag_.clear(std::memory_order_release); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  std::atomic_flag& flag_;
};

}  // namespace commlens::profile

// How a rank waits for what another rank writes to memory that they share.
#pragma once

#include <functional>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace commlens::transport::peer {

/// Between two looks at a value that another rank writes: at first without leaving the processor. After a while the
/// processor is offered to other threads, as the rank that is waited for may be among them.
class SpinWait {
 public:
  /// `work`, if there is any, is done each time that the processor is offered.
  explicit SpinWait(const std::function<void()>* work = nullptr) : work_(work) {}

  void look_again() {
    if (++looks_ < before_yielding) {
#if defined(__x86_64__)
      _mm_pause();
#endif
    } else {
      if (work_ != nullptr && *work_) (*work_)();
      std::this_thread::yield();
    }
  }

 private:
  static constexpr int before_yielding = 2000;
  const std::function<void()>* work_;
  int looks_ = 0;
};

template <class Condition>
void wait_until(Condition condition) {
  for (SpinWait wait; !condition(); wait.look_again()) {
  }
}

}  // namespace commlens::transport::peer

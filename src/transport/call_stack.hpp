// What a thread is in while it waits: its call stack, read by a timer's signal.
#pragma once

#include <signal.h>
#include <time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

namespace commlens::transport {

struct Frame {
  std::string function;  ///< empty: its name is not exported
  std::string object;    ///< the file of the program or shared library, without its folder
};

/// Reads the stack of the thread that makes it, once, after `delay`.
class StackSample {
 public:
  explicit StackSample(std::chrono::nanoseconds delay);
  StackSample(StackSample&&) = delete;
  ~StackSample();

  /// Innermost first; empty if the time was not over yet. Reads no more from now on.
  [[nodiscard]] std::vector<Frame> finish();

 private:
  static void read(int signal, siginfo_t* info, void* context);
  void stop();

  std::array<void*, 64> addresses_{};
  std::atomic<int> count_{0};
  timer_t timer_{};
  bool runs_ = false;
  struct sigaction before_{};
};

}  // namespace commlens::transport

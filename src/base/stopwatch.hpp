// Seconds since it was made, on the clock that never goes back.
#pragma once

#include <chrono>

namespace commlens {

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start_ = Clock::now();
};

}  // namespace commlens

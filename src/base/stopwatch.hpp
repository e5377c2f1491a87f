// Seconds since it was made, on the clock that never goes back.
#pragma once

#include <chrono>

#include "base/clock.hpp"

namespace commlens {

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(SteadyClock::now() - start_).count(); }

 private:
  SteadyClock::time_point start_ = SteadyClock::now();
};

}  // namespace commlens

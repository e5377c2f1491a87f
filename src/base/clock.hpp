// The clock of all that is measured. It never goes back.
#pragma once

#include <time.h>

#include <chrono>

namespace commlens {

/// std::chrono::steady_clock, but for the call: where MPI is simulated, its compiler puts the simulated time in the
/// place of this function of the C library (SimGrid's smpicc).
struct SteadyClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SteadyClock>;
  static constexpr bool is_steady = true;

  [[nodiscard]] static time_point now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
  [[nodiscard]] static double seconds() { return std::chrono::duration<double>(now().time_since_epoch()).count(); }
};

}  // namespace commlens

// The best of rates, measured in rounds until none of them rises any more: what ceilings are made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace commlens::measure {

struct PeakLimits {
  std::size_t quiet_rounds = 3;  ///< the last, in which no rate has risen
  double rise = 0.01;            ///< by which a rate rises, at least
  double least_s = 0.02;         ///< shorter disturbances do not outlast the rounds
  double most_s = 2;
};

/// Of hardware that may have been idle: a GPU needs a part of a second to raise its clocks, and gives steady rates
/// before.
inline PeakLimits limits_from_idle(bool on_gpu) { return {.least_s = on_gpu ? 0.3 : 0.02}; }

/// Of hardware that has just worked for `case_s`: a few rounds, in at most a tenth of that time.
inline PeakLimits limits_after(double case_s) {
  return {.quiet_rounds = 2, .least_s = 0, .most_s = std::max(case_s / 10, 0.02)};
}

/// Each round() gives the same number of rates; the best of each is the result. `seconds()` is a clock. Where ranks
/// measure together, both must be the same on all of them.
template <class Round, class Clock>
std::vector<double> peak_rates(const Round& round, const Clock& seconds, const PeakLimits& limits = {}) {
  const double start = seconds();
  std::vector<double> best = round();
  double spent = seconds() - start;
  for (std::size_t quiet = 0; spent < limits.most_s && (quiet < limits.quiet_rounds || spent < limits.least_s);) {
    const std::vector<double> rates = round();
    ++quiet;
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (rates[i] > best[i] * (1 + limits.rise)) quiet = 0;
      best[i] = std::max(best[i], rates[i]);
    }
    spent = seconds() - start;
  }
  return best;
}

}  // namespace commlens::measure

// Statistics of samples, after Hoefler and Belli, "Scientific benchmarking of parallel computing systems" (SC15).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace commlens::measure {

/// A confidence interval of a median.
struct Interval {
  double low = 0;
  double high = 0;
};

/// Order statistics and the mean, in the unit of the samples.
struct Statistics {
  std::size_t count = 0;
  double median = 0;
  std::optional<Interval> median_interval;  ///< at `confidence`; none where the samples are too few for one
  double min = 0;
  double mean = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;

  static constexpr double confidence = 0.95;
};

/// `samples` in any order, at least one, and none that is NaN (throws std::invalid_argument otherwise).
/// The interval is the non-parametric one of order statistics: for n samples, the narrowest symmetric pair of ranks (j,
/// n+1-j) whose binomial(n, 1/2) coverage is at least `confidence`. It exists from 6 samples on. Percentiles are
/// nearest-rank.
Statistics summarize(std::span<const double> samples);

/// Half the width of the interval over the median: 0.02 is "within 2%". None without an interval or with a median of 0.
std::optional<double> relative_half_width(const Statistics& statistics);

}  // namespace commlens::measure

#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace commlens::measure {
namespace {

double median_of(const std::vector<double>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : std::midpoint(sorted[middle - 1], sorted[middle]);
}

/// The nearest-rank percentile: the smallest sample that at least `percent` of the samples do not exceed. In integers,
/// because 0.95 * n in floating point may lie on either side of a whole number.
double percentile_of(const std::vector<double>& sorted, std::size_t percent) {
  const std::size_t rank = (percent * sorted.size() + 99) / 100;
  return sorted[rank - 1];
}

double mean_of(const std::vector<double>& sorted) {
  const long double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0L);
  // Rounding must not put the mean of equal samples outside of them.
  return std::clamp(static_cast<double>(sum / static_cast<long double>(sorted.size())), sorted.front(), sorted.back());
}

/// The logarithm of binomial(n, 1/2) at `successes`.
double log_probability(double n, double successes) {
  return std::lgamma(n + 1) - std::lgamma(successes + 1) - std::lgamma(n - successes + 1) - n * std::numbers::ln2;
}

/// The largest j for which the samples of ranks j and n+1-j (from 1) enclose the median with the confidence asked for:
/// both tails of binomial(n, 1/2), each of fewer than j successes, together hold at most 1 - confidence. 0 where no j
/// does.
std::size_t lower_rank(std::size_t count) {
  const auto n = static_cast<double>(count);
  const double largest_tail = (1 - Statistics::confidence) / 2;
  // By Hoeffding's inequality, what lies more than 6 sqrt(n) below n/2 has a probability below exp(-72).
  auto rank = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - 6 * std::sqrt(n))));
  double tail = 0;
  while (rank < count / 2) {
    tail += std::exp(log_probability(n, static_cast<double>(rank)));
    if (tail > largest_tail) break;
    ++rank;
  }
  return rank;
}

std::optional<Interval> median_interval_of(const std::vector<double>& sorted) {
  const std::size_t rank = lower_rank(sorted.size());
  if (rank == 0) return std::nullopt;
  return Interval{.low = sorted[rank - 1], .high = sorted[sorted.size() - rank]};
}

}  // namespace

Statistics summarize(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("statistics need at least one sample");
  if (std::any_of(samples.begin(), samples.end(), [](double sample) { return std::isnan(sample); })) {
    throw std::invalid_argument("a sample is not a number, and samples that are not cannot be ordered");
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return {.count = sorted.size(),
          .median = median_of(sorted),
          .median_interval = median_interval_of(sorted),
          .min = sorted.front(),
          .mean = mean_of(sorted),
          .p95 = percentile_of(sorted, 95),
          .p99 = percentile_of(sorted, 99),
          .max = sorted.back()};
}

std::optional<double> relative_half_width(const Statistics& statistics) {
  if (!statistics.median_interval || statistics.median == 0) return std::nullopt;
  const double width = statistics.median_interval->high - statistics.median_interval->low;
  const double relative = width / 2 / std::abs(statistics.median);
  if (std::isnan(relative)) return std::nullopt;
  return relative;
}

}  // namespace commlens::measure

#include "measure/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/format.hpp"
#include "measure/statistics.hpp"

namespace commlens::measure {
namespace {

// Operations whose parts are timed within them: looking at the clock between steps takes time, so they are others than
// those that are timed as a whole.
constexpr std::size_t most_in_parts = 20;
constexpr double long_enough_in_parts_s = 2;

constexpr std::size_t most_traced = 10;
constexpr double long_enough_traced_s = 1;
constexpr double near_the_median = 0.1;  ///< of it

}  // namespace

Sampler::Sampler(SampledOperation& operation, Sampling sampling, Ranks& ranks, Clock clock)
    : operation_(operation), sampling_(std::move(sampling)), ranks_(ranks), clock_(std::move(clock)) {}

void Sampler::run() {
  const Repetition& repetition = sampling_.repetition;
  operation_.status("warming up");
  double not_sampled = 0;
  for (std::size_t left = repetition.warmup; left > 0;) left -= round(left, false, not_sampled);
  const double began = clock_();
  for (std::size_t batch = 0; samples_.error.empty() && more(batch, began); ++batch) {
    operation_.status(fmt::format("timing (batch {})", batch + 1));
    repetition.timing == Timing::batch ? sample_batch() : sample_each();
    if (samples_.error.empty()) sample_parts();
  }
}

/// Whether another batch is due: decided from times that are equal on all ranks.
bool Sampler::more(std::size_t batches_done, double began) {
  const Repetition& repetition = sampling_.repetition;
  const bool is_requested = batches_done < repetition.batches;
  if (batches_done == 0 || (is_requested && !sampling_.limits_all)) return is_requested;
  if (!is_requested && repetition.min_time_s <= 0 && repetition.until_ci_percent <= 0) return false;
  if (samples_.seconds.size() >= most_samples) return false;
  if (largest(clock_() - began) > repetition.max_time_s) return false;
  if (is_requested || sampled_s_ < repetition.min_time_s) return true;
  if (repetition.until_ci_percent <= 0) return false;
  const auto width = relative_half_width(summarize(samples_.seconds));
  return !width || *width * 100 > repetition.until_ci_percent;
}

std::size_t Sampler::round(std::size_t wanted, bool is_sample, double& seconds) {
  const std::size_t operations = std::min(wanted, sampling_.operations_per_round);
  operation_.prepare(++round_);
  seconds += timed([&] { operation_.operate(operations); });
  if (is_sample) operation_.sampled(operations);
  verify(operations);
  return operations;
}

/// The only code between two readings of the clock is the operation.
double Sampler::timed(const std::function<void()>& operate) {
  ranks_.barrier();
  const double began = clock_();
  operate();
  return clock_() - began;
}

double Sampler::largest(double value) {
  std::vector<double> values{value};
  ranks_.maximum(values);
  return values.front();
}

/// Agreeing on the verdict is left to collect(), where the ranks meet anyway.
void Sampler::verify(std::size_t operations) {
  if (!sampling_.validate) return;
  const Verdict verdict = operation_.verify(round_, operations);
  ++samples_.checks;
  samples_.elements += verdict.elements;
  if (!verdict.error.empty() && rank_error_.empty()) {
    rank_error_ = fmt::format("rank {}, after {}: {}", ranks_.rank(), counted(operations, "operation"), verdict.error);
  }
  if (!verdict.deviation) return;
  Deviation& deviation = samples_.deviation ? *samples_.deviation : samples_.deviation.emplace();
  deviation.largest = std::max(deviation.largest, verdict.deviation->largest);
  deviation.total = std::max(deviation.total, verdict.deviation->total);
}

void Sampler::sample_batch() {
  const std::size_t repeat = sampling_.repetition.repeat;
  double seconds = 0;
  for (std::size_t left = repeat; left > 0;) left -= round(left, true, seconds);
  collect({seconds / static_cast<double>(repeat)}, static_cast<double>(repeat));
}

void Sampler::sample_each() {
  std::vector<double> samples(sampling_.repetition.repeat, 0.0);
  for (double& sample : samples) round(1, true, sample);
  collect(std::move(samples), 1);
}

/// Makes the largest over the ranks of each sample a sample of the record.
void Sampler::collect(std::vector<double> samples, double operations_per_sample) {
  ranks_.maximum(samples);
  for (const double sample : samples) sampled_s_ += sample * operations_per_sample;
  samples_.seconds.insert(samples_.seconds.end(), samples.begin(), samples.end());
  samples_.error = ranks_.first(rank_error_);
}

/// In turns with the whole, so that clocks and temperature are the same for all of them. Results are not compared: what
/// is reduced or copied alone is whatever lies there.
void Sampler::sample_parts() {
  auto& parts = sampling_.parts;
  if (std::any_of(parts.begin(), parts.end(), [](const Part& part) { return part.within; })) {
    return sample_parts_within();
  }
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].samples_s.push_back(seconds_alone(i));
}

/// Timed as the whole is: what lies between two synchronizations is the same for both.
double Sampler::seconds_alone(std::size_t part) {
  const bool each = sampling_.repetition.timing == Timing::each;
  const std::size_t repeat = sampling_.repetition.repeat;
  double seconds = 0;
  for (std::size_t i = 0; i < (each ? repeat : 1); ++i) {
    seconds += largest(timed([&] { operation_.operate_part(part, each ? 1 : repeat); }));
  }
  return seconds / static_cast<double>(repeat);
}

/// The mean over the ranks is taken: a rank that waits in one part works in another, so that of the largest the sum
/// would exceed the whole.
void Sampler::sample_parts_within() {
  double spent = 0;  // equal on all ranks
  for (std::size_t i = 0; i < std::min(most_in_parts, sampling_.repetition.repeat); ++i) {
    if (spent >= long_enough_in_parts_s) break;
    spent += operate_in_parts();
    std::vector<double> seconds = operation_.seconds_in_parts();
    ranks_.mean(seconds);
    for (std::size_t part = 0; part < seconds.size(); ++part) sampling_.parts[part].samples_s.push_back(seconds[part]);
  }
}

/// The barrier comes just before the steps are looked at: times of all ranks count from there.
double Sampler::operate_in_parts() {
  operation_.prepare(++round_);
  ranks_.barrier();
  operation_.begin_parts();
  const double began = clock_();
  operation_.operate_in_parts();
  const double seconds = largest(clock_() - began);
  verify(1);
  return seconds;
}

void Sampler::trace(const std::function<void(double seconds)>& keep) {
  const double median = summarize(samples_.seconds).median;
  double nearest = std::numeric_limits<double>::infinity();
  double spent = 0;  // equal on all ranks
  for (std::size_t i = 0; i < most_traced && nearest > near_the_median * median; ++i) {
    if (spent >= long_enough_traced_s) break;
    const double seconds = operate_in_parts();
    spent += seconds;
    if (std::abs(seconds - median) >= nearest) continue;
    nearest = std::abs(seconds - median);
    keep(seconds);
  }
}

Samples Sampler::result() {
  if (samples_.error.empty()) samples_.error = ranks_.first(rank_error_);  // of the warm-up or the last operations
  for (Part& part : sampling_.parts) {
    if (!part.samples_s.empty()) samples_.parts.push_back(std::move(part));  // otherwise it ended before
  }
  sampling_.parts.clear();
  return samples_;
}

}  // namespace commlens::measure

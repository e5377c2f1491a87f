#include "measure/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <utility>

namespace commlens::measure {

bool is_time(double seconds) { return std::isfinite(seconds) && seconds >= 0; }

namespace {

std::string fault_of_samples(const std::vector<double>& samples_s) {
  const auto is_bad = [](double sample) { return !is_time(sample); };
  const auto first = std::find_if(samples_s.begin(), samples_s.end(), is_bad);
  if (first == samples_s.end()) return {};
  return fmt::format("{} of {} samples are not times, the first is sample {}: {} s",
                     std::count_if(samples_s.begin(), samples_s.end(), is_bad), samples_s.size(),
                     first - samples_s.begin(), *first);
}

std::string fault_of_metric(const std::vector<double>& samples_s, const CaseMetric& metric) {
  for (const double sample : samples_s) {
    const double value = metric.at(sample);
    if (!std::isfinite(value)) return fmt::format("{} is {} for a sample of {} s", metric.metric.name, value, sample);
  }
  return {};
}

/// What makes the numbers of a record unusable, or an empty text: no samples, a sample or a set-up time that is
/// negative or not finite, a sample for which a metric is not finite (a bandwidth at a time of zero).
std::string fault_of(const Record& record) {
  if (record.samples_s.empty()) return "nothing was measured";
  if (std::string fault = fault_of_samples(record.samples_s); !fault.empty()) return fault;
  for (const CaseMetric& metric : record.metrics) {
    if (std::string fault = fault_of_metric(record.samples_s, metric); !fault.empty()) return fault;
  }
  return is_time(record.setup_s) ? std::string{} : fmt::format("the set-up took {} s", record.setup_s);
}

Outcome outcome_of(const Record& record) {
  const std::string fault = fault_of(record);
  if (record.status == Status::skipped) return {Status::skipped, record.reason, false};
  if (fault.empty()) return {record.status, record.status == Status::ok ? "" : record.reason, true};
  if (record.status == Status::ok || record.reason.empty()) return {Status::failed, fault, false};
  // A benchmark that failed before its first sample has said why; that nothing was measured goes without saying.
  return {Status::failed, record.samples_s.empty() ? record.reason : record.reason + "; " + fault, false};
}

Statistics statistics_of(std::span<const double> samples_s, const CaseMetric& metric) {
  std::vector<double> values(samples_s.size());
  std::transform(samples_s.begin(), samples_s.end(), values.begin(),
                 [&](double seconds) { return metric.at(seconds); });
  return summarize(values);
}

/// Of the parts of each stream, which cannot overlap with each other.
std::map<std::string, double> seconds_of_streams(const std::vector<Part>& parts) {
  std::map<std::string, double> of_stream;
  for (const Part& part : parts) of_stream[part.stream] += summarize(part.samples_s).median;
  return of_stream;
}

}  // namespace

Result::Result(Record record) : record_(std::move(record)), outcome_(outcome_of(record_)) {
  fractions_.resize(record_.ceilings.size());
  if (!outcome_.measured) return;
  auto metrics = record_.metrics;
  const bool has_time = std::any_of(metrics.begin(), metrics.end(),
                                    [](const CaseMetric& metric) { return metric.metric.name == time_us.name; });
  if (!has_time) metrics.push_back(time_us());
  for (const CaseMetric& metric : metrics) metrics_.push_back({metric, statistics_of(record_.samples_s, metric)});
  for (const Part& part : record_.parts) parts_.push_back(summarize(part.samples_s));

  const double median_s = summarize(record_.samples_s).median;
  for (std::size_t i = 0; i < fractions_.size(); ++i) fractions_[i] = fraction_of(record_.ceilings[i], median_s);
}

const MetricStatistics* Result::metric(std::string_view name) const {
  const auto match = std::find_if(metrics_.begin(), metrics_.end(),
                                  [&](const MetricStatistics& metric) { return metric.metric.metric.name == name; });
  return match == metrics_.end() ? nullptr : &*match;
}

std::optional<double> Result::fraction_of(const Ceiling& ceiling, double median_s) const {
  if (!is_time(ceiling.seconds) || ceiling.seconds == 0) return std::nullopt;
  if (!std::isfinite(ceiling.rate) || ceiling.rate <= 0) return std::nullopt;
  if (!ceiling.part.empty()) {
    const auto part = std::find_if(record_.parts.begin(), record_.parts.end(),
                                   [&](const Part& candidate) { return candidate.name == ceiling.part; });
    if (part == record_.parts.end()) return std::nullopt;
    median_s = parts_[static_cast<std::size_t>(part - record_.parts.begin())].median;
  }
  const double fraction = ceiling.seconds / median_s;
  return std::isfinite(fraction) ? std::optional(fraction) : std::nullopt;
}

std::optional<double> Result::fraction() const {
  std::optional<double> nearest;
  for (std::size_t i = 0; i < fractions_.size(); ++i) {
    const Ceiling& ceiling = record_.ceilings[i];
    const std::optional<double> fraction = fractions_[i];
    if (ceiling.library || !ceiling.part.empty() || !fraction) continue;
    nearest = std::max(nearest.value_or(0), *fraction);
  }
  return nearest;
}

double ideal_seconds(const std::vector<Part>& parts) {
  double longest = 0;
  for (const auto& [stream, seconds] : seconds_of_streams(parts)) longest = std::max(longest, seconds);
  return longest;
}

std::optional<CaseMetric> hidden_communication_of(const std::vector<Part>& parts) {
  double sum = 0;
  for (const auto& [stream, seconds] : seconds_of_streams(parts)) sum += seconds;
  const double hideable = sum - ideal_seconds(parts);
  if (hideable <= 0) return std::nullopt;
  return CaseMetric{hidden_communication, -1 / hideable, sum / hideable};
}

}  // namespace commlens::measure

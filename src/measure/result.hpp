// A record with what follows from its samples, computed once: its outcome, statistics and fractions of ceilings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/record.hpp"
#include "measure/statistics.hpp"

namespace commlens::measure {

/// Finite, and not negative.
bool is_time(double seconds);

/// What is reported of a record: its own status and reason, but `failed` for an `ok` one whose numbers cannot be. The
/// exit status follows from it too, so that all agree.
struct Outcome {
  Status status = Status::ok;
  std::string reason;     ///< empty when ok
  bool measured = false;  ///< there are samples, and every metric of each is a finite number
};

struct MetricStatistics {
  CaseMetric metric;
  Statistics statistics;
};

/// Immutable. What is empty in it was not measured.
class Result {
 public:
  explicit Result(Record record);

  [[nodiscard]] const Record& record() const { return record_; }
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }
  /// The record's metrics, and time_us if it is not among them.
  [[nodiscard]] const std::vector<MetricStatistics>& metrics() const { return metrics_; }
  /// The main metric; nullptr: nothing was measured.
  [[nodiscard]] const MetricStatistics* main() const { return metrics_.empty() ? nullptr : &metrics_.front(); }
  /// One of metrics(); nullptr: it was not measured.
  [[nodiscard]] const MetricStatistics* metric(std::string_view name) const;
  /// Of time_us. Only where something was measured.
  [[nodiscard]] const Statistics& time() const { return metric(time_us.name)->statistics; }
  /// Of seconds, one for each of the record's parts.
  [[nodiscard]] const std::vector<Statistics>& parts() const { return parts_; }
  /// One for each of the record's ceilings: its time over the median time of the operation, or of its part; 1 is all
  /// that the hardware can give. None where the ceiling was not measured (its time or rate is no positive number).
  [[nodiscard]] const std::vector<std::optional<double>>& fractions() const { return fractions_; }
  /// The fraction of the hardware's ceiling that is nearest to the operation as a whole.
  [[nodiscard]] std::optional<double> fraction() const;

 private:
  [[nodiscard]] std::optional<double> fraction_of(const Ceiling& ceiling, double median_s) const;

  Record record_;
  Outcome outcome_;
  std::vector<MetricStatistics> metrics_;
  std::vector<Statistics> parts_;
  std::vector<std::optional<double>> fractions_;
};

/// The least time in which an operation of these parts can be done where their streams overlap in full: that of the
/// stream whose parts take longest, one after the other. Each counts with its median. 0 without parts.
double ideal_seconds(const std::vector<Part>& parts);

/// How much of the shorter streams is hidden, for parts that were timed alone. Nothing if there is nothing to hide.
std::optional<CaseMetric> hidden_communication_of(const std::vector<Part>& parts);

}  // namespace commlens::measure

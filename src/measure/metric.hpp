// Metrics: what is derived from the time of one operation. A metric is declared once, in the benchmark that has it; the
// records carry the declaration, and whoever shows, compares or documents a metric reads it from there.
//
//   constexpr Metric bandwidth_GBps{"bandwidth_GBps", unit::GBps, Better::higher, "bytes of all messages over the
//   time"};
//   ... .metrics = {bandwidth_GBps(bytes)}
#pragma once

#include <string>
#include <string_view>

#include "base/enum_names.hpp"

namespace commlens::measure {

/// The unit of a metric or a fact: the end of its name, and how tables show it.
struct Unit {
  std::string_view ending;  ///< "_GBps"
  std::string_view text;    ///< "GB/s"
  double scale = 1;         ///< from seconds, or an amount per second: 1e-9
  bool is_linear = false;   ///< a metric is then linear in the seconds, otherwise an amount over the seconds
};

namespace unit {
inline constexpr Unit none{"", ""};
inline constexpr Unit linear_share{"", "", 1, true};  ///< of one, that falls or grows with the time
inline constexpr Unit s{"_s", "s", 1, true};
inline constexpr Unit ms{"_ms", "ms", 1e3, true};
inline constexpr Unit us{"_us", "us", 1e6, true};
inline constexpr Unit bytes{"_bytes", "B"};
inline constexpr Unit per_s{"_per_s", "1/s"};
inline constexpr Unit GBps{"_GBps", "GB/s", 1e-9};
inline constexpr Unit Mflops{"_Mflops", "Mflop/s", 1e-6};
inline constexpr Unit GFLOPs{"_GFLOPs", "GFLOP/s", 1e-9};
inline constexpr Unit TFLOPs{"_TFLOPs", "TFLOP/s", 1e-12};
inline constexpr Unit DOF_iterations_per_s{"_DOF_iter_per_s", "DOF*iter/s"};
inline constexpr Unit DOF_per_s{"_DOF_per_s", "DOF/s"};
}  // namespace unit

enum class Better { lower, higher };
ENUM_NAMES(Better, {lower, "lower"}, {higher, "higher"});

struct CaseMetric;

/// A metric as a benchmark declares it. Its texts live as long as the program.
struct Metric {
  std::string_view name;  ///< ends in the unit's ending
  Unit unit;
  Better better = Better::lower;
  std::string_view definition;
  std::string_view given_label;  ///< where the name without its unit says too little; see label()

  /// For tables and pictures: given_label, else the name without the unit's ending: "bus bandwidth".
  [[nodiscard]] std::string label() const;
  /// For one case: amount * seconds where the unit is linear, otherwise amount / seconds; in the metric's unit.
  [[nodiscard]] constexpr CaseMetric operator()(double amount = 1) const;
};

/// A metric with the amount of one case.
struct CaseMetric {
  Metric metric;
  double amount = 1;
  double constant = 0;  ///< added to amount * seconds

  /// `seconds` of one operation.
  [[nodiscard]] constexpr double at(double seconds) const {
    return (metric.unit.is_linear ? constant + amount * seconds : amount / seconds) * metric.unit.scale;
  }
};

constexpr CaseMetric Metric::operator()(double amount) const { return {*this, amount}; }

/// What every record has in its statistics: the operation that `samples.operation` names.
inline constexpr Metric time_us{"time_us", unit::us, Better::lower, "time of one operation"};
inline constexpr Metric time_ms{"time_ms", unit::ms, Better::lower, "time of one operation"};
inline constexpr Metric time_s{"time_s", unit::s, Better::lower, "time of one operation"};
/// Of benchmarks whose parts are timed alone.
inline constexpr Metric hidden_communication{
    "hidden_communication", unit::linear_share, Better::higher,
    "(sum of the parts' times alone - time of the operation) / (sum of the parts - the longest stream): 1 hides all of "
    "the shorter stream, usually the communication; 0 hides nothing; negative: overlapping costs more than it hides"};
inline constexpr Metric overlap_efficiency{
    "overlap_efficiency", unit::none, Better::higher,
    "time of the stream whose parts take longest alone, over the time of the operation: 1 is perfect overlap"};

/// The name without the unit's ending, with blanks for underscores.
std::string label_of(std::string_view name, const Unit& unit);

}  // namespace commlens::measure

// Progress for people: a row per case as it ends. The tables, with everything that a record holds, are printed by
// `commlens run` at the end and by `commlens show`.
#include <fmt/format.h>

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <variant>

#include "base/format.hpp"
#include "measure/reporter.hpp"
#include "measure/reporters/text.hpp"

namespace commlens::measure {
namespace {

/// "14.62 us [14.55, 14.80]", or "14.62 us [3 samples]" without an interval.
std::string with_interval(const Statistics& statistics, const std::string& unit) {
  const auto& interval = statistics.median_interval;
  const std::string text = interval ? fmt::format("{}, {}", format_number(interval->low), format_number(interval->high))
                                    : counted(statistics.count, "sample");
  return fmt::format("{}{}{} [{}]", format_number(statistics.median), unit.empty() ? "" : " ", unit, text);
}

/// "64 MiB" of a size in bytes, "block 732" of another.
std::string size_text(const Parameter& size) {
  const auto* number = std::get_if<std::int64_t>(&size.value);
  if (number != nullptr && size.unit == unit::bytes.text) return format_bytes(static_cast<double>(*number));
  return fmt::format("{} {}", size.name, text_of(size.value));
}

/// "latency 14.62 us [14.55, 14.80]  63% of ceiling  passed"
std::string measured_text(const Result& result) {
  const MetricStatistics& main = *result.main();
  const Metric& metric = main.metric.metric;
  std::string text =
      fmt::format("{} {}", metric.label(), with_interval(main.statistics, std::string(metric.unit.text)));
  if (const auto fraction = result.fraction()) text += fmt::format("  {} of ceiling", format_fraction(*fraction));
  const Validation& validation = result.record().validation;
  if (result.outcome().status != Status::ok) return text + "  " + complaint(result.outcome());
  return text + fmt::format("  {}", name(validation.status));
}

std::string row_of(const Result& result) {
  const Record& record = result.record();
  const Parameter* size = record.parameter_of(Role::size);
  const Parameter* variant = record.parameter_of(Role::variant);
  std::string row = size == nullptr ? "  " : fmt::format("{:>10}  ", size_text(*size));
  row += fmt::format("{:<6}  {:<6}  ", record.transport, record.memory);
  if (variant != nullptr) row += text_of(variant->value) + "  ";
  return row + (result.outcome().measured ? measured_text(result) : complaint(result.outcome())) + '\n';
}

/// What --until-ci has not reached; empty if it was not asked for, or has.
std::string missed_interval(const Result& result) {
  const Repetition& repetition = result.record().repetition;
  if (repetition.until_ci_percent <= 0 || !result.outcome().measured) return {};
  const auto& statistics = result.time();
  const auto width = relative_half_width(statistics);
  if (width && 100 * *width <= repetition.until_ci_percent) return {};
  const std::string reached = width ? "the interval is +-" + format_percent(*width) : "there is no interval";
  return fmt::format("#   --until-ci {:g}%: not reached within --max-time {:g} s: {} after {}\n",
                     repetition.until_ci_percent, repetition.max_time_s, reached, counted(statistics.count, "sample"));
}

std::string title_of(const Record& record) {
  const std::string settings = settings_of(record);
  return fmt::format("\n# {}{}{} (timing {}); medians [95% intervals]\n", record.benchmark,
                     settings.empty() ? "" : ": ", settings, name(record.repetition.timing));
}

class TableReporter final : public Reporter {
 public:
  using Reporter::Reporter;

  void begin(const Start& start) override { out_ << header_of(start) << std::flush; }

  void add(const Start& /*start*/, std::span<const Result> group) override {
    for (const Result& result : group) {
      const std::string title = title_of(result.record());
      if (title != title_) out_ << title;
      title_ = title;
      out_ << row_of(result) << missed_interval(result);
    }
    out_.flush();
  }

 private:
  std::string title_;
};

}  // namespace

ReporterDescription table_reporter() {
  return {.name = "table",
          .help = "a row per case for people: median with its 95% interval, share of the ceiling, validation",
          .make = make_reporter<TableReporter>};
}

}  // namespace commlens::measure

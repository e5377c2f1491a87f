// Comma-separated values (RFC 4180), for spreadsheets and pandas: a row per record. The columns are those that the
// benchmark declares: its parameters, and its metrics with the 95% interval of their median.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/reporter.hpp"
#include "measure/reporters/text.hpp"

namespace commlens::measure {
namespace {

/// In quotation marks where it has to be.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + "\"";
}

/// With all its digits; empty where it is no number.
std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

/// The median and its interval; empty where they were not measured.
std::array<std::string, 3> cells_of(const Result& result, std::string_view metric) {
  const MetricStatistics* measured = result.metric(metric);
  if (measured == nullptr) return {};
  const Statistics& statistics = measured->statistics;
  const auto& interval = statistics.median_interval;
  if (!interval) return {number(statistics.median), "", ""};
  return {number(statistics.median), number(interval->low), number(interval->high)};
}

class CsvReporter final : public Reporter {
 public:
  using Reporter::Reporter;

  void begin(const Start& start) override {
    std::vector<std::string> row = {"benchmark", "ranks", "transport", "memory"};
    for (const ParameterDeclaration& parameter : start.benchmark.parameters) row.push_back(parameter.name);
    row.insert(row.end(), {"status", "samples"});
    for (const Metric& metric : start.benchmark.metrics) {
      const std::string name(metric.name);
      row.insert(row.end(), {name, name + "_low", name + "_high"});
    }
    row.insert(row.end(), {"validation", "reason"});
    write(row);
  }

  void add(const Start& start, std::span<const Result> group) override {
    for (const Result& result : group) write(row_of(start, result));
  }

 private:
  static std::vector<std::string> row_of(const Start& start, const Result& result) {
    const Record& record = result.record();
    std::vector<std::string> row = {record.benchmark, std::to_string(record.ranks), record.transport, record.memory};
    for (const ParameterDeclaration& parameter : start.benchmark.parameters) {
      const Value* value = record.parameter(parameter.name);
      row.push_back(value != nullptr ? text_of(*value) : "");
    }
    row.insert(row.end(), {std::string(name(result.outcome().status)), std::to_string(record.samples_s.size())});
    for (const Metric& metric : start.benchmark.metrics) {
      const auto cells = cells_of(result, metric.name);
      row.insert(row.end(), cells.begin(), cells.end());
    }
    row.insert(row.end(), {std::string(name(record.validation.status)), single_line(result.outcome().reason)});
    return row;
  }

  void write(const std::vector<std::string>& row) {
    std::vector<std::string> cells;
    for (const std::string& cell : row) cells.push_back(quoted(cell));
    out_ << fmt::format("{}\n", fmt::join(cells, ",")) << std::flush;
  }
};

}  // namespace

ReporterDescription csv_reporter() {
  return {.name = "csv",
          .help = "a row per record with its parameters and metrics, for spreadsheets",
          .make = make_reporter<CsvReporter>};
}

}  // namespace commlens::measure

// The live table: a row per record as it comes, in at most 100 columns. Everything else that a record holds is for
// `commlens show`.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "measure/format.hpp"
#include "measure/reporters/formats.hpp"
#include "measure/reporters/text.hpp"

namespace commlens::measure {
namespace {

constexpr std::size_t widest_line = 100;
constexpr std::size_t number_width = 9;  // "1.235e+07"

struct Column {
  std::string heading;
  std::size_t width = 0;
  bool left = false;
};

using Cells = std::vector<std::string>;

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// Cells that are missing at its end are left out.
std::string row_of(const std::vector<Column>& columns, const Cells& cells) {
  std::string row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto& [heading, width, left] = columns[i];
    row += left ? fmt::format("  {:<{}}", cells[i], width) : fmt::format("  {:>{}}", cells[i], width);
  }
  return without_trailing_blanks(row);
}

/// Breaks a text at blanks; every line begins with `begin`.
std::string wrapped(const std::string& begin, const std::string& text) {
  std::istringstream words(text);
  std::string result;
  std::string line = begin;
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > widest_line && line != begin) {
      result += line + '\n';
      line = begin;
    }
    line += " " + word;
  }
  return result + line + '\n';
}

/// "64 MiB" of a size in bytes, otherwise the number.
std::string size_text(const Parameter* size) {
  if (size == nullptr) return "-";
  const auto* bytes = size->unit == unit::bytes.text ? std::get_if<std::int64_t>(&size->value) : nullptr;
  return bytes != nullptr ? format_bytes(*bytes) : text_of(size->value);
}

std::string check_of(const Validation& validation) {
  return validation.status == ValidationStatus::not_reached ? "-" : std::string(name(validation.status));
}

/// "latency (us) [95% interval]"
std::string heading_of(const Metric& metric) {
  const std::string label = metric.label();
  const std::string unit = metric.unit.text.empty() ? "" : fmt::format(" ({})", metric.unit.text);
  return fmt::format("{:>{}} [95% interval]", label + unit, number_width);
}

/// What the rows below one heading have in common.
struct Layout {
  const Parameter* size = nullptr;     ///< of the first record; nullptr: no column
  const Parameter* variant = nullptr;  ///< likewise
  const Metric* metric = nullptr;      ///< the main one; nullptr: no record has any
  bool with_memory = true;             ///< there is room for it

  explicit Layout(std::span<const Result> group)
      : size(group.front().record().parameter_of(Role::size)),
        variant(group.front().record().parameter_of(Role::variant)),
        with_memory(size == nullptr || variant == nullptr) {
    for (const Result& result : group) {
      if (metric == nullptr && !result.record().metrics.empty()) metric = &result.record().metrics.front().metric;
    }
  }

  [[nodiscard]] std::vector<Column> columns(std::size_t variant_width) const {
    std::vector<Column> columns;
    if (size != nullptr) columns.push_back({size->unit.empty() ? size->name : "size", number_width});
    columns.push_back({"transport", 9, true});
    if (with_memory) columns.push_back({"memory", 13, true});
    if (variant != nullptr) columns.push_back({variant->name, variant_width, true});
    columns.push_back({metric != nullptr ? heading_of(*metric) : "", 33, true});
    columns.push_back({"of ceiling", 10});
    columns.push_back({"check", 6, true});
    return columns;
  }

  [[nodiscard]] Cells cells(const Result& result) const {
    const Record& record = result.record();
    Cells cells;
    if (size != nullptr) cells.push_back(size_text(record.parameter_of(Role::size)));
    cells.push_back(record.transport);
    if (with_memory) cells.push_back(record.memory);
    if (variant != nullptr) {
      const Value* value = record.parameter(variant->name);
      cells.push_back(value != nullptr ? text_of(*value) : "-");
    }
    if (!result.outcome().measured) {
      cells.emplace_back(name(result.outcome().status));
      return cells;
    }
    const auto fraction = result.fraction();
    cells.push_back(with_interval(result.main()->statistics, number_width));
    cells.push_back(fraction ? format_fraction(*fraction) : "-");
    cells.push_back(check_of(record.validation));
    return cells;
  }
};

/// What --until-ci has not reached; empty if it was not asked for, or has.
std::string missed_interval(const Result& result) {
  const Repetition& repetition = result.record().repetition;
  if (repetition.until_ci_percent <= 0 || !result.outcome().measured) return {};
  const auto& statistics = result.time();
  const auto width = relative_half_width(statistics);
  if (width && 100 * *width <= repetition.until_ci_percent) return {};
  const std::string reached = width ? "the interval is +-" + format_percent(*width) : "there is no interval";
  return fmt::format("--until-ci {:g}%: not reached within --max-time {:g} s: {} after {}", repetition.until_ci_percent,
                     repetition.max_time_s, reached, counted(statistics.count, "sample"));
}

class TableReporter final : public Reporter {
 public:
  explicit TableReporter(std::ostream& out) : out_(out) {}

  void begin(const Start& start) override { out_ << header_of(start) << std::flush; }

  void add(const Start& /*start*/, std::span<const Result> group) override {
    if (group.empty()) return;
    const Layout layout(group);
    const std::string title = title_of(group.front().record());
    const std::string metric(layout.metric != nullptr ? layout.metric->name : "");
    if (title != title_ || (!metric.empty() && metric != metric_)) {
      title_ = title;
      metric_ = metric;
      columns_ = layout.columns(variant_width(layout, group));
      Cells headings;
      for (const Column& column : columns_) headings.push_back(column.heading);
      std::string line = row_of(columns_, headings);
      line.front() = '#';
      out_ << '\n' << wrapped("#", title) << line << '\n';
    }
    for (const Result& result : group) write(layout, result);
    out_.flush();
  }

 private:
  static std::string title_of(const Record& record) {
    const std::string settings = settings_of(record);
    return fmt::format("{}{}{} (timing {})", record.benchmark, settings.empty() ? "" : ": ", settings,
                       name(record.repetition.timing));
  }

  static std::size_t variant_width(const Layout& layout, std::span<const Result> group) {
    if (layout.variant == nullptr) return 0;
    std::size_t width = layout.variant->name.size();
    for (const Result& result : group) {
      const Value* value = result.record().parameter(layout.variant->name);
      if (value != nullptr) width = std::max(width, text_of(*value).size());
    }
    return width;
  }

  void write(const Layout& layout, const Result& result) {
    out_ << row_of(columns_, layout.cells(result)) << '\n';
    if (result.outcome().status != Status::ok) out_ << wrapped("#   ", complaint(result.outcome()));
    if (const std::string note = missed_interval(result); !note.empty()) out_ << wrapped("#   ", note);
  }

  std::ostream& out_;
  std::string title_;
  std::string metric_;
  std::vector<Column> columns_;
};

}  // namespace

ReporterDescription table_reporter() {
  return {.name = "table",
          .help = "a table for people: medians with their 95% intervals, percent of the ceiling, validation",
          .make = [](std::ostream& out) { return std::make_unique<TableReporter>(out); }};
}

}  // namespace commlens::measure

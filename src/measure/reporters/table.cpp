// The table for people: what ran where, then a row a record, with the ceiling and the best transport of the case beside
// it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "measure/reporters/formats.hpp"
#include "measure/reporters/text.hpp"

namespace commlens::measure {
namespace {

// ---- numbers ----

constexpr std::size_t number_width = 9;  // "1.235e+07"

/// Writes numbers with the digits that suit the first of them: four or so, and the same for an interval as for its
/// median.
class NumberFormat {
 public:
  explicit NumberFormat(double example) {
    const double magnitude = std::abs(example);
    if (magnitude == 0) return;
    scientific_ = magnitude >= 1e7 || magnitude < 1e-5;
    if (scientific_) {
      decimals_ = 3;
    } else if (magnitude < 1) {
      decimals_ = 2 - static_cast<int>(std::floor(std::log10(magnitude)));
    } else {
      decimals_ = magnitude < 100 ? 2 : magnitude < 1000 ? 1 : 0;
    }
  }

  [[nodiscard]] std::string operator()(double value) const {
    return scientific_ ? fmt::format("{:.{}e}", value, decimals_) : fmt::format("{:.{}f}", value, decimals_);
  }

 private:
  bool scientific_ = false;
  int decimals_ = 2;
};

std::string number(double value) { return NumberFormat(value)(value); }

std::string percentage(double fraction) {
  const double percent = 100 * fraction;
  return fmt::format("{:.{}f}%", percent, percent >= 100 ? 0 : percent >= 10 ? 1 : 2);
}

std::string times(double ratio) { return fmt::format("{:.{}f}x", ratio, ratio < 10 ? 2 : ratio < 100 ? 1 : 0); }

/// "14.62 [14.55, 14.80]"
std::string with_interval(const Statistics& statistics) {
  const NumberFormat format(statistics.median);
  const auto& interval = statistics.median_interval;
  const std::string text = interval ? fmt::format("[{}, {}]", format(interval->low), format(interval->high))
                                    : fmt::format("[{} samples]", statistics.count);
  return fmt::format("{:>{}} {}", format(statistics.median), number_width, text);
}

// ---- columns ----

struct Column {
  std::vector<std::string> heading;  ///< from top to bottom; the unit is the last line
  std::size_t width = 0;
  bool left = false;
};

Column column(std::vector<std::string> heading, std::size_t width, bool left) {
  for (const std::string& line : heading) width = std::max(width, line.size());
  return {std::move(heading), width, left};
}

/// The words of a figure's name, and last its unit: {"bus", "bandwidth", "GB/s"}; {"GFLOP/s"} where there is no other.
std::vector<std::string> heading_of(const std::string& figure) {
  static const std::array<std::pair<const char*, const char*>, 9> units = {{{"_DOF_iter_per_s", "DOF*iter/s"},
                                                                            {"_per_s", "per s"},
                                                                            {"_GBps", "GB/s"},
                                                                            {"_Mflops", "Mflops"},
                                                                            {"_GFLOPs", "GFLOP/s"},
                                                                            {"_TFLOPs", "TFLOP/s"},
                                                                            {"_us", "us"},
                                                                            {"_ms", "ms"},
                                                                            {"_s", "s"}}};
  std::string words = "_" + figure;
  std::string unit;
  for (const auto& [ending, text] : units) {
    if (!words.ends_with(ending)) continue;
    words.resize(words.size() - std::string_view(ending).size());
    unit = text;
    break;
  }
  std::vector<std::string> lines;
  for (const char character : words) {
    if (character == '_') {
      lines.emplace_back();
    } else {
      lines.back() += character;
    }
  }
  lines.push_back(unit);
  return lines;
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// A row of cells; those that are missing at its end are left out.
std::string row_of(const std::vector<Column>& columns, const std::vector<std::string>& cells) {
  std::string row = " ";
  for (std::size_t index = 0; index < cells.size(); ++index) {
    const Column& column = columns[index];
    row += column.left ? fmt::format(" {:<{}} ", cells[index], column.width)
                       : fmt::format(" {:>{}} ", cells[index], column.width);
  }
  return row;
}

std::string headings_of(const std::vector<Column>& columns) {
  std::size_t height = 0;
  for (const Column& column : columns) height = std::max(height, column.heading.size());
  std::string text;
  for (std::size_t line = 0; line < height; ++line) {
    std::vector<std::string> cells;
    for (const Column& column : columns) {
      const std::size_t above = height - column.heading.size();  // headings stand on the first row
      cells.push_back(line < above ? "" : column.heading[line - above]);
    }
    std::string row = row_of(columns, cells);
    row.front() = '#';
    text += without_trailing_blanks(row) + '\n';
  }
  return text;
}

/// What the rows of one benchmark with the same settings have in common. Figures are names here: what they compute is
/// each record's own, as a bandwidth depends on the record's bytes.
struct Layout {
  bool sized = false;                ///< there is a parameter `bytes`
  bool compared = false;             ///< there are several transports
  std::vector<std::string> figures;  ///< the first is the benchmark's own
  std::string variant;               ///< the parameter in which rows of one transport differ; empty: in none
  std::vector<Part> parts;           ///< what each takes, alone or within the operation; without samples
  double part_scale = 1;             ///< of a second, in the unit of the columns of parts
  std::vector<Column> columns;
};

/// The figures' names in the first record of the group that has figures, which a skipped one may not.
std::vector<std::string> figures_of(std::span<const Record> group) {
  std::vector<std::string> names;
  for (const Record& record : group) {
    for (const Figure& figure : record.figures) names.push_back(figure.name);
    if (!names.empty()) break;
  }
  return names;
}

/// Of all records, each once: a variant may have parts that others lack.
std::vector<Part> parts_of(std::span<const Record> group) {
  std::vector<Part> parts;
  for (const Record& record : group) {
    for (const Part& part : record.parts) {
      const bool known =
          std::any_of(parts.begin(), parts.end(), [&](const Part& one) { return one.name == part.name; });
      if (!known) parts.push_back({.name = part.name, .stream = part.stream, .samples_s = {}, .within = part.within});
    }
  }
  return parts;
}

/// One word a line: a column of them is narrow.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char character : text) {
    if (character == ' ') {
      words.emplace_back();
    } else {
      words.back() += character;
    }
  }
  return words;
}

Column part_column(const Part& part, const std::string& unit) {
  std::vector<std::string> heading = words_of(part.name);
  if (!part.within) heading.emplace_back("alone");
  heading.push_back(unit);
  return column(std::move(heading), number_width, false);
}

std::string variant_of(const Record& record) {
  const Value* value = find(record.parameters, record.variant);
  const auto* word = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  return word != nullptr ? *word : "-";
}

/// The column of the benchmark's own figure; its heading stands over the median, not over the interval.
Column own_figure_column(const std::string& figure) {
  std::vector<std::string> heading = heading_of(figure);
  for (std::string& line : heading) line = fmt::format("{:>{}}", line, number_width);
  heading.back() += " [95% interval]";
  return column(std::move(heading), 2 * number_width + 14, true);
}

Layout layout_of(std::span<const Record> group) {
  Layout layout;
  layout.sized = integer_parameter(group.front(), "bytes").has_value();
  layout.compared = group.size() > 1;
  layout.figures = figures_of(group);
  auto& columns = layout.columns;
  if (layout.sized) columns.insert(columns.end(), {column({"size"}, 9, false), column({"bytes"}, 12, false)});
  columns.insert(columns.end(), {column({"transport"}, 9, true), column({"memory"}, 14, true)});
  layout.variant = group.front().variant;
  if (!layout.variant.empty()) {
    std::size_t width = 0;
    for (const Record& record : group) width = std::max(width, variant_of(record).size());
    columns.push_back(column({layout.variant}, width, true));
  }
  for (const std::string& figure : layout.figures) {
    const bool own = &figure == &layout.figures.front();
    columns.push_back(own ? own_figure_column(figure) : column(heading_of(figure), number_width, false));
  }
  const std::string unit = layout.figures.empty() ? "" : heading_of(layout.figures.front()).back();
  layout.parts = parts_of(group);
  layout.part_scale = unit == "us" ? 1e6 : unit == "ms" ? 1e3 : 1;
  for (const Part& part : layout.parts) {
    columns.push_back(part_column(part, unit == "us" || unit == "ms" ? unit : "s"));
  }
  columns.push_back(column({"ceiling", unit}, number_width, false));
  columns.push_back(column({"% of", "ceiling"}, 7, false));
  columns.push_back(column({"ceiling", "is"}, 14, true));
  if (layout.compared) columns.push_back(column({"vs best"}, 13, false));
  columns.push_back(column({"check"}, 5, true));
  return layout;
}

// ---- rows ----

/// The ceiling that leaves the least room: of those of the hardware that were measured, the one with the longest time.
const Ceiling* tightest_ceiling(const Record& record) {
  const Ceiling* tightest = nullptr;
  for (const Ceiling& ceiling : record.ceilings) {
    if (ceiling.library || !ceiling.part.empty()) continue;
    if (fraction_of(record, ceiling) && (tightest == nullptr || ceiling.seconds > tightest->seconds))
      tightest = &ceiling;
  }
  return tightest;
}

std::string mark_of(const Validation& validation) {
  switch (validation.status) {
    case ValidationStatus::passed:
      return validation.exact ? "exact" : "right";
    case ValidationStatus::failed:
      return "WRONG";
    case ValidationStatus::off:
      return "off";
    case ValidationStatus::not_reached:
      return "-";
  }
  return "-";
}

std::optional<double> own_median(const Record& record) {
  const Outcome outcome = outcome_of(record);
  if (outcome.status != Status::ok || record.figures.empty()) return std::nullopt;
  return statistics_of(record, record.figures.front()).median;
}

std::optional<double> best_median(std::span<const Record> group) {
  std::optional<double> best;
  for (const Record& record : group) {
    const auto median = own_median(record);
    if (!median) continue;
    const bool lower = record.figures.front().better == Better::lower;
    if (!best || (lower ? *median < *best : *median > *best)) best = median;
  }
  return best;
}

std::string comparison(const Record& record, std::optional<double> best) {
  const auto median = own_median(record);
  if (!median || !best || *median == 0 || *best == 0) return "-";
  if (*median == *best) return "1.00x";
  return times(record.figures.front().better == Better::lower ? *median / *best : *best / *median) + " slower";
}

std::vector<std::string> leading_cells(const Layout& layout, const Record& record) {
  std::vector<std::string> cells;
  if (layout.sized) {
    const std::int64_t bytes = integer_parameter(record, "bytes").value_or(0);
    cells.push_back(human_bytes(bytes));
    cells.push_back(fmt::format("{}", bytes));
  }
  cells.push_back(record.transport);
  cells.push_back(record.memory);
  if (!layout.variant.empty()) cells.push_back(variant_of(record));
  return cells;
}

void add_figure_cells(std::vector<std::string>& cells, const Layout& layout, const Record& record) {
  for (const std::string& name : layout.figures) {
    const Figure* figure = find_figure(record, name);
    if (figure == nullptr) {
      cells.emplace_back("-");
      continue;
    }
    const Statistics statistics = statistics_of(record, *figure);
    cells.push_back(&name == &layout.figures.front() ? with_interval(statistics) : number(statistics.median));
  }
}

void add_part_cells(std::vector<std::string>& cells, const Layout& layout, const Record& record) {
  for (const Part& wanted : layout.parts) {
    const auto part = std::find_if(record.parts.begin(), record.parts.end(),
                                   [&](const Part& candidate) { return candidate.name == wanted.name; });
    cells.push_back(part == record.parts.end() ? "-" : number(layout.part_scale * summarize(part->samples_s).median));
  }
}

/// "mpi", or "mpi, cached"
std::string name_of(const Record& record) {
  return record.variant.empty() ? record.transport : record.transport + ", " + variant_of(record);
}

/// An operation of parts has ceilings of each kind, and the row has room for the tightest only: a comment with all.
std::string ceilings_of(const Record& record) {
  if (record.parts.empty()) return "";
  std::vector<std::string> texts;
  for (const Ceiling& ceiling : record.ceilings) {
    const auto fraction = fraction_of(record, ceiling);
    if (!fraction || !outcome_of(record).measured) continue;
    const bool is_copy = ceiling.copy_GBps > 0;
    texts.push_back(fmt::format("{} {} {} ({}{})", ceiling.name,
                                number(is_copy ? ceiling.copy_GBps : ceiling.gemm_TFLOPs), is_copy ? "GB/s" : "TFLOP/s",
                                percentage(*fraction), ceiling.part.empty() ? "" : " of " + ceiling.part));
  }
  if (texts.empty()) return "";
  return fmt::format("#   ceilings of {}: {}\n", name_of(record), fmt::join(texts, ", "));
}

/// What an operation calls, and how far its results are from exact ones.
std::string remarks_on(const Record& record) {
  const auto& deviation = record.validation.deviation;
  if (!outcome_of(record).measured || !deviation) return "";
  std::vector<std::string> calls;
  for (const auto& [function, count] : record.calls) calls.push_back(fmt::format("{} {:g}", function, count));
  std::string text;
  if (!calls.empty()) text += fmt::format("#   calls in {}: {}\n", name_of(record), fmt::join(calls, ", "));
  return text + fmt::format("#   errors of {}: at most {:.2g}, in all {:.2g}\n", name_of(record), deviation->largest,
                            deviation->total);
}

/// What later variants gain on earlier ones, over each transport; not of candidates, of which one alone is used.
std::string gains_of(std::span<const Record> group) {
  std::string text;
  for (const Record& before : group) {
    if (before.variant.empty() || before.candidate || !own_median(before)) continue;
    for (const Record& after : group) {
      const bool next = &after > &before && after.transport == before.transport && own_median(after);
      if (!next) continue;
      const auto [slower, faster] = std::pair(summarize(before.samples_s), summarize(after.samples_s));
      text += fmt::format("#   speed-up over {}, {} to {}: {:.1f}% (of the best times {:.1f}%)\n", before.transport,
                          variant_of(before), variant_of(after), 100 * (slower.median / faster.median - 1),
                          100 * (slower.min / faster.min - 1));
    }
  }
  return text;
}

/// Which of the candidates an application would use.
std::string used_of(std::span<const Record> group) {
  const Candidate* fastest = nullptr;
  for (const Record& record : group) {
    if (!record.candidate || outcome_of(record).status != Status::ok) continue;
    if (!std::isfinite(record.candidate->seconds)) continue;
    if (fastest == nullptr || record.candidate->seconds < fastest->seconds) fastest = &*record.candidate;
  }
  return fastest == nullptr ? "" : fmt::format("used config: {}\n", on_one_line(fastest->text));
}

/// The blocks of a report, which part at empty lines.
std::vector<std::string> blocks_of(const std::vector<std::string>& report) {
  std::vector<std::string> blocks(1);
  for (const std::string& line : report) {
    if (!line.empty()) {
      blocks.back() += on_one_line(line) + '\n';
    } else if (!blocks.back().empty()) {
      blocks.emplace_back();
    }
  }
  if (blocks.back().empty()) blocks.pop_back();
  return blocks;
}

void add_ceiling_cells(std::vector<std::string>& cells, const Record& record) {
  const Ceiling* ceiling = tightest_ceiling(record);
  if (ceiling == nullptr || record.figures.empty()) {
    cells.insert(cells.end(), {"-", "-", "-"});
    return;
  }
  cells.push_back(number(record.figures.front().from_seconds(ceiling->seconds)));
  cells.push_back(percentage(fraction_of(record, *ceiling).value_or(0)));
  cells.push_back(ceiling->name);
}

std::string line_of(const Layout& layout, const Record& record, std::optional<double> best) {
  const Outcome outcome = outcome_of(record);
  std::vector<std::string> cells = leading_cells(layout, record);
  if (!outcome.measured) return row_of(layout.columns, cells) + " " + complaint(outcome);
  add_figure_cells(cells, layout, record);
  add_part_cells(cells, layout, record);
  add_ceiling_cells(cells, record);
  if (layout.compared) cells.push_back(comparison(record, best));
  cells.push_back(mark_of(record.validation));
  const std::string row = row_of(layout.columns, cells);
  return outcome.status == Status::ok ? row : row + " " + complaint(outcome);
}

// ---- the block at the beginning ----

/// "NCCL 2.28.3", whether the library says its own name in its version or not.
std::string library_and_version(const std::string& library, const std::string& version) {
  return version.find(library) == std::string::npos ? library + " " + version : version;
}

std::string title_of(const RunInformation& run) {
  static const std::array<std::pair<const char*, const char*>, 4> libraries = {
      {{"mpi", "MPI"}, {"nccl", "NCCL"}, {"rccl", "RCCL"}, {"ccl", "CCL"}}};
  std::string title = fmt::format("# commlens {}, backend {}", commlens_version(run), run.backend);
  for (const auto& [key, library] : libraries) {
    const auto found = run.versions.find(key);
    if (found != run.versions.end()) title += ", " + on_one_line(library_and_version(library, found->second));
  }
  return title + '\n';
}

std::string counted(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string gpu_text(const Gpu& gpu) {
  const std::string numa = gpu.numa_node < 0 ? "" : fmt::format(", NUMA {}", gpu.numa_node);
  return fmt::format("; GPU {} {} ({}{})", gpu.ordinal, gpu.name, gpu.pci, numa);
}

std::string one_line_a_rank(const RunInformation& run) {
  std::string text;
  for (const Placement& place : run.placement) {
    text += fmt::format("#   rank {}: {}, cores {}, NUMA {}{}\n", place.rank, place.host, place.cores, place.numa_nodes,
                        place.gpu ? gpu_text(*place.gpu) : "");
  }
  return text;
}

std::vector<std::string> sorted_without_repetition(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

std::string one_line_for_all(const RunInformation& run) {
  std::vector<std::string> hosts;
  std::vector<std::string> gpus;  // a GPU that ranks share counts once
  std::vector<std::string> names;
  for (const Placement& place : run.placement) {
    hosts.push_back(place.host);
    if (!place.gpu) continue;
    gpus.push_back(fmt::format("{} {} {}", place.host, place.gpu->uuid, place.gpu->pci));
    names.push_back(place.gpu->name);
  }
  hosts = sorted_without_repetition(std::move(hosts));
  gpus = sorted_without_repetition(std::move(gpus));
  names = sorted_without_repetition(std::move(names));
  const std::string where = hosts.size() == 1 ? hosts.front() : hosts.front() + " ... " + hosts.back();
  if (gpus.empty()) return fmt::format("#   on {}, without GPUs\n", where);
  return fmt::format("#   on {}, with {}: {}\n", where, counted(gpus.size(), "GPU"), fmt::join(names, ", "));
}

std::string block_of(const RunInformation& run) {
  constexpr std::size_t most_lines = 8;
  std::string text = title_of(run);
  text += fmt::format("# {} on {}\n", counted(static_cast<std::size_t>(run.ranks), "rank"),
                      counted(static_cast<std::size_t>(run.nodes), "node"));
  if (run.placement.size() > most_lines) {
    text += one_line_for_all(run);
  } else {
    text += one_line_a_rank(run);
  }
  for (const std::string& note : run.notes) text += fmt::format("# note: {}\n", on_one_line(note));
  for (const std::string& warning : run.warnings) text += fmt::format("# warning: {}\n", on_one_line(warning));
  return text;
}

class TableReporter final : public Reporter {
 public:
  explicit TableReporter(std::ostream& out) : out_(out) {}

  void begin(const RunInformation& run) override { out_ << block_of(run) << std::flush; }

  void add(const RunInformation& /*run*/, std::span<const Record> group) override {
    if (group.empty()) return;
    print_reports(group);
    const std::string title = title_of_rows(group);
    const std::vector<std::string> figures = figures_of(group);
    const bool same_figures = figures.empty() || figures == layout_.figures;
    if (title != title_ || !same_figures) {
      title_ = title;
      layout_ = layout_of(group);
      out_ << '\n' << title << headings_of(layout_.columns);
    }
    const auto best = best_median(group);
    for (const Record& record : group) out_ << without_trailing_blanks(line_of(layout_, record, best)) << '\n';
    for (const Record& record : group) out_ << ceilings_of(record) << remarks_on(record);
    out_ << gains_of(group) << used_of(group);
    out_.flush();
  }

 private:
  /// Each block once in a start: a mesh is the same for all transports. Behind them a new table begins.
  void print_reports(std::span<const Record> group) {
    for (const Record& record : group) {
      for (const std::string& block : blocks_of(record.report)) {
        if (!reported_.insert(block).second) continue;
        out_ << '\n' << block;
        title_.clear();
      }
    }
  }

  static std::string compared_of(std::span<const Record> group) {
    const std::string& first = group.front().transport;
    const bool transports =
        std::any_of(group.begin(), group.end(), [&](const Record& one) { return one.transport != first; });
    if (transports) return ", transports compared";
    return group.size() > 1 ? fmt::format(", {} compared", group.front().variant) : "";
  }

  /// "# allreduce: dtype=f64, in_place=true (timing batch)"; with another one begins another table.
  static std::string title_of_rows(std::span<const Record> group) {
    const Record& first = group.front();
    const std::string settings = settings_of(first);  // without those that are columns
    return fmt::format("# {}{}{} (timing {}{})\n", first.benchmark, settings.empty() ? "" : ": ", settings,
                       name(first.repetition.timing), compared_of(group));
  }

  std::ostream& out_;
  std::string title_;
  Layout layout_;
  std::set<std::string> reported_;
};

}  // namespace

ReporterDescription table_reporter() {
  return {.name = "table",
          .help = "a table for people: medians with their 95% intervals, ceilings, ratios to the best transport",
          .make = [](std::ostream& out) { return std::make_unique<TableReporter>(out); }};
}

}  // namespace commlens::measure

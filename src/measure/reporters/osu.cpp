// The layout of the OSU micro-benchmarks 7.4, so that what parses their output reads commlens unchanged. OSU prints
// means: the metric at the mean time, which for a bandwidth is all bytes over all seconds and not the mean of the
// samples' bandwidths.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "measure/reporter.hpp"
#include "measure/reporters/text.hpp"

namespace commlens::measure {
namespace {

constexpr const char* osu_format = "osu";
constexpr int size_width = 10;
constexpr int metric_width = 18;  ///< of headings and numbers in OSU 7's output

bool on_gpu(const std::string& side) { return side == "device" || side == "managed"; }

bool involves_gpu(const Record& record) {
  const auto [from, to] = memory_sides(record.memory);
  return on_gpu(from) || on_gpu(to);
}

std::string gpu_suffix(const Start& start, const Record& record) {
  if (!involves_gpu(record)) return "";
  return start.backend == "cuda" ? "-CUDA" : start.backend == "hip" ? "-ROCM" : "";
}

std::string place_of(const std::string& side) {
  return side == "device" ? "DEVICE (D)" : side == "managed" ? "MANAGED (M)" : "HOST (H)";  // pinned is the host's
}

std::string word_of(const Record& record, std::string_view parameter) {
  const Value* value = record.parameter(parameter);
  const auto* word = value ? std::get_if<std::string>(value) : nullptr;
  return word ? *word : "";
}

struct MpiType {
  std::string name;
  std::int64_t bytes = 0;  ///< of an element
};

MpiType mpi_type_of(const Record& record) {
  const std::string type = word_of(record, "dtype");
  if (type.empty()) return {"MPI_CHAR", 1};
  if (type == "f32") return {"MPI_FLOAT", 4};
  if (type == "f64") return {"MPI_DOUBLE", 8};
  if (type == "c64") return {"MPI_C_FLOAT_COMPLEX", 8};
  if (type == "c128") return {"MPI_C_DOUBLE_COMPLEX", 16};
  if (type == "i32") return {"MPI_INT", 4};
  if (type == "i64") return {"MPI_INT64_T", 8};
  if (type == "u8") return {"MPI_UINT8_T", 1};
  return {type};
}

/// OSU's words for the way in which a window is made, and for the synchronization.
std::string window_lines(const Record& record) {
  const auto fact = std::find_if(record.facts.begin(), record.facts.end(),
                                 [](const auto& entry) { return entry.first == "window_creation"; });
  const auto* creation = fact != record.facts.end() ? std::get_if<std::string>(&fact->second) : nullptr;
  std::string text;
  if (creation) {
    text = fmt::format("# Window creation: MPI_Win_{}\n", *creation == "dynamic" ? "create_dynamic" : *creation);
  }
  const std::string kind = word_of(record, "synchronization");
  const std::string calls = kind == "lock"          ? "lock/unlock"
                            : kind == "pscw"        ? "post/start/complete/wait"
                            : kind == "flush-local" ? "flush_local"
                            : kind == "lock-all"    ? "lock_all/unlock_all"
                                                    : kind;
  return text + fmt::format("# Synchronization: MPI_Win_{}\n", calls);
}

std::string section_header(const Start& start, const Record& record, const ClassicLayout& layout, bool several) {
  std::string text = fmt::format("\n# OSU {}{} {} v7.4\n", layout.call, gpu_suffix(start, record), layout.title);
  text += fmt::format("# commlens {}\n", commlens_version(start));
  if (several) text += fmt::format("# Transport: {}\n", record.transport);
  if (layout.one_sided) text += window_lines(record);
  if (layout.point_to_point && involves_gpu(record)) {
    const auto [from, to] = memory_sides(record.memory);
    text += fmt::format("# {} on {} and {} on {}\n", layout.one_sided ? "Rank 0 Memory" : "Send Buffer", place_of(from),
                        layout.one_sided ? "Rank 1 Memory" : "Receive Buffer", place_of(to));
  }
  if (layout.pairs) {
    text += fmt::format("# [ pairs: {} ] [ window size: {} ]\n", integer_parameter(record, "pairs").value_or(1),
                        integer_parameter(record, "window").value_or(1));
  }
  if (!layout.has_size) return text + fmt::format("# {}\n", layout.columns.front().heading);
  text += fmt::format("# Datatype: {}.\n{:<{}}", mpi_type_of(record).name, "# Size", size_width);
  for (const ClassicLayout::Column& column : layout.columns)
    text += fmt::format("{:>{}}", column.heading, metric_width);
  return text + "\n";
}

std::string row_of(const Result& result, const ClassicLayout& layout) {
  const Record& record = result.record();
  const CaseMetric* array = find_metric(record, "algorithm_bandwidth_GBps");
  const std::int64_t bytes = layout.of_array && array != nullptr
                                 ? std::llround(array->amount)
                                 : integer_parameter(record, "bytes").value_or(mpi_type_of(record).bytes);
  const Outcome& outcome = result.outcome();
  if (outcome.status != Status::ok) {
    return fmt::format("# {}: size {}: {}\n", name(outcome.status), bytes, single_line(outcome.reason));
  }
  std::string row = layout.has_size ? fmt::format("{:<{}}", bytes, size_width) : "";
  for (const ClassicLayout::Column& column : layout.columns) {
    const CaseMetric* metric = find_metric(record, column.metric);
    if (!metric) return fmt::format("# failed: size {}: the record has no metric {}\n", bytes, column.metric);
    row += fmt::format("{:>{}.2f}", metric->at(mean_time(record)) * column.scale, metric_width);
  }
  return row + "\n";
}

/// OSU's programs measure one thing each, so each transport is given a section of its own. The first is written as it
/// comes, the others are kept until the sweep over sizes ends.
class OsuReporter final : public Reporter {
 public:
  using Reporter::Reporter;
  ~OsuReporter() override { write_kept(); }  // what is kept is not lost when the run ends with an exception

  void add(const Start& start, std::span<const Result> group) override {
    if (group.empty()) return;
    const Record& first = group.front().record();
    const std::string sweep = first.benchmark + '\n' + settings_of(first);
    if (sweep != sweep_) {
      write_kept();
      sections_.clear();
      sweep_ = sweep;
    }
    for (const Result& result : group) {
      const Record& record = result.record();
      auto section = std::find_if(sections_.begin(), sections_.end(),
                                  [&](const auto& candidate) { return candidate.is_of(record); });
      const bool begins = section == sections_.end();
      if (begins) section = sections_.insert(section, {record.transport, record.memory, ""});
      section->text += text_of(start, result, begins, group.size() > 1);
    }
    out_ << std::exchange(sections_.front().text, "");
    out_.flush();
  }

  void end() override { write_kept(); }

 private:
  /// Of a transport, which need not be in every group: what is unsupported is told once.
  struct Section {
    std::string transport;
    std::string memory;
    std::string text;

    [[nodiscard]] bool is_of(const Record& record) const {
      return record.transport == transport && record.memory == memory;
    }
  };

  static std::string text_of(const Start& start, const Result& result, bool begins, bool several) {
    const Record& record = result.record();
    const ClassicLayout* layout = start.benchmark.classic_layout(osu_format);
    if (layout == nullptr) return "";  // which is refused before anything is measured
    return (begins ? section_header(start, record, *layout, several) : "") + row_of(result, *layout);
  }

  void write_kept() {
    for (Section& section : sections_) out_ << std::exchange(section.text, "");
    out_.flush();
  }

  std::string sweep_;
  std::vector<Section> sections_;  ///< in the order in which they came; the first is empty, for it has been written
};

}  // namespace

ReporterDescription osu_reporter() {
  return {.name = osu_format,
          .help = "the layout of the OSU micro-benchmarks 7.4",
          .make = make_reporter<OsuReporter>,
          .is_classic = true};
}

}  // namespace commlens::measure

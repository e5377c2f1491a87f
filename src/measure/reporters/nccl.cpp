// The rows of nccl-tests 2.19, so that what parses its output reads commlens unchanged: the header, a row for each
// size, and the lines at the end. A start of commlens measures in place or out of place: the columns of the other one
// are N/A. nccl-tests prints means: the metrics at the mean time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "measure/reporter.hpp"
#include "measure/reporters/text.hpp"

namespace commlens::measure {
namespace {

constexpr const char* nccl_format = "nccl";

std::string_view type_of(std::string_view dtype) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"i8", "int8"},  {"u8", "uint8"},      {"i32", "int32"}, {"i64", "int64"},
      {"f16", "half"}, {"bf16", "bfloat16"}, {"f32", "float"}, {"f64", "double"}};
  for (const auto& [ours, theirs] : names) {
    if (ours == dtype) return theirs;
  }
  return dtype;
}

std::string word(const Record& record, std::string_view parameter, std::string_view otherwise) {
  const Value* value = record.parameter(parameter);
  const auto* text = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  return text != nullptr ? *text : std::string(otherwise);
}

bool is_in_place(const Record& record) {
  const Value* value = record.parameter("in_place");
  const auto* flag = value != nullptr ? std::get_if<bool>(value) : nullptr;
  return flag != nullptr && *flag;
}

/// As many decimals as fit into the column, two at most.
std::string fitted(double value, std::size_t width) {
  for (const int decimals : {2, 1, 0}) {
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (text.size() <= width) return text;
  }
  return fmt::format("{:.0e}", value);
}

std::string heading(std::string_view program, const std::string& transport) {
  std::string text = fmt::format("# Collective test starting: {}\n# Transport: {}\n#\n", program, transport);
  const auto line = [&](std::string_view size, std::string_view count, std::string_view type, std::string_view redop,
                        std::string_view root) {
    text += fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", size, count, type, redop, root);
  };
  line("", "", "", "", "");
  text += "           out-of-place                       in-place          \n";
  line("size", "count", "type", "redop", "root");
  for (int side = 0; side < 2; ++side)
    text += fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "time", "algbw", "busbw", "#wrong");
  text += '\n';
  line("(B)", "(elements)", "", "", "");
  for (int side = 0; side < 2; ++side)
    text += fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  return text + "\n";
}

/// Sections, as OSU's reporter has them, would come in another order than they are measured: the transport is in front
/// of the rows wherever it changes.
class NcclReporter final : public Reporter {
 public:
  using Reporter::Reporter;

  void add(const Start& start, std::span<const Result> group) override {
    const ClassicLayout* layout = start.benchmark.classic_layout(nccl_format);
    for (const Result& result : group) {
      if (layout == nullptr) return;  // which is refused before anything is measured
      const Record& record = result.record();
      const std::string section = record.benchmark + " " + record.transport;
      if (std::exchange(section_, section) != section) out_ << heading(layout->title, record.transport);
      out_ << row(start, result);
    }
    out_.flush();
  }

  void end() override {
    if (section_.empty()) return;
    out_ << fmt::format("# {:<20} : {} {}\n", "Out of bounds values", wrong_, wrong_ == 0 ? "OK" : "FAILED");
    out_ << fmt::format("# {:<20} : {:g} \n#\n", "Avg bus bandwidth", rows_ > 0 ? bus_bandwidths_ / rows_ : 0.0);
    out_.flush();
  }

 private:
  std::string row(const Start& start, const Result& result) {
    const Record& record = result.record();
    const std::int64_t block = integer_parameter(record, "bytes").value_or(0);
    const Outcome& outcome = result.outcome();
    if (outcome.status == Status::failed) ++wrong_;
    if (outcome.status != Status::ok) {
      return fmt::format("# {}: size {}: {}\n", name(outcome.status), block, single_line(outcome.reason));
    }
    const double seconds = mean_time(record);
    const CaseMetric* algorithm = find_metric(record, "algorithm_bandwidth_GBps");
    const CaseMetric* bus = find_metric(record, "bus_bandwidth_GBps");
    if (algorithm == nullptr || bus == nullptr) return "";
    ++rows_;
    bus_bandwidths_ += bus->at(seconds);
    const auto& declared = start.benchmark.parameters;
    const bool reduces = std::any_of(declared.begin(), declared.end(),
                                     [](const auto& parameter) { return parameter.name == "reduction"; });
    const bool is_rooted = record.parameter("root") != nullptr;
    const std::string row =
        fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", std::llround(algorithm->amount),
                    integer_parameter(record, "count").value_or(0), type_of(word(record, "dtype", "u8")),
                    word(record, "reduction", reduces ? "sum" : "none"),
                    is_rooted ? integer_parameter(record, "root").value_or(0) : -1);
    const std::string measured =
        fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", fitted(1e6 * seconds, 7), fitted(algorithm->at(seconds), 6),
                    fitted(bus->at(seconds), 6), record.validation.status == ValidationStatus::passed ? "0" : "N/A");
    const std::string other = fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
    return row + (is_in_place(record) ? other + measured : measured + other) + "\n";
  }

  std::string section_;
  int wrong_ = 0;
  int rows_ = 0;
  double bus_bandwidths_ = 0;
};

}  // namespace

ReporterDescription nccl_reporter() {
  return {.name = nccl_format,
          .help = "the layout of nccl-tests 2.19",
          .make = make_reporter<NcclReporter>,
          .is_classic = true};
}

}  // namespace commlens::measure

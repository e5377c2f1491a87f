// The two lines of the DFT-FE mini-app (benchmarkDeviceDirectMPIAllreduce), so that old notes and new runs can be laid
// side by side; a third for what it does not measure. The number is the seconds of the whole batch of calls.
#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

#include "measure/reporter.hpp"
#include "measure/reporters/text.hpp"

namespace commlens::measure {
namespace {

constexpr const char* dftfe_format = "dftfe";

/// The words before the number; empty for a transport that the mini-app's layout has no words for.
std::string title_of(std::string_view operation, const std::string& transport) {
  if (transport == "ccl") return fmt::format("Time in seconds for GPU Direct {} using NCCL/RCCL", operation);
  if (transport == "mpi") return fmt::format("Time in seconds for GPU Direct {} using standard MPI library", operation);
  if (transport == "staged") return fmt::format("Time in seconds for {} staged through host memory", operation);
  return {};
}

std::string comment(const Record& record, const std::string& text) {
  return fmt::format("# {} over {}: {}\n", record.benchmark, record.transport, text);
}

std::string line_of(const Start& start, const Result& result) {
  const Record& record = result.record();
  if (result.outcome().status != Status::ok) return comment(record, complaint(result.outcome()));
  const ClassicLayout* layout = start.benchmark.classic_layout(dftfe_format);
  const bool has_column = layout != nullptr && !layout->columns.empty();
  const MetricStatistics* metric = has_column ? result.metric(layout->columns.front().metric) : nullptr;
  const std::string title = metric == nullptr ? "" : title_of(layout->title, record.transport);
  if (title.empty()) return comment(record, "the DFT-FE mini-app has no line for this");
  // The mini-app's words are kept to the letter, also where they are not true: they speak of GPU memory.
  const std::string warning = record.memory == "device" ? "" : comment(record, "in " + record.memory + " memory");
  return warning + fmt::format("{}: {:.18e}\n", title, metric->statistics.median);
}

class DftfeReporter final : public Reporter {
 public:
  using Reporter::Reporter;

  void add(const Start& start, std::span<const Result> group) override {
    for (const Result& result : group) out_ << line_of(start, result);
    out_.flush();
  }
};

}  // namespace

ReporterDescription dftfe_reporter() {
  return {.name = dftfe_format,
          .help = "allreduce in the words of the DFT-FE mini-app",
          .make = make_reporter<DftfeReporter>,
          .is_classic = true};
}

}  // namespace commlens::measure

// The two lines of the DFT-FE mini-app (benchmarkDeviceDirectMPIAllreduce), so that old notes and new runs can be laid
// side by side; a third for what it does not measure. The number is the seconds of the whole batch of calls.
#include <fmt/format.h>

#include "measure/reporters/formats.hpp"
#include "measure/reporters/text.hpp"

namespace commlens::measure {
namespace {

constexpr std::string_view allreduce = "allreduce";  // all that it measures

/// The words before the number; empty for a transport that the mini-app's layout has no words for.
std::string title_of(const std::string& transport) {
  if (transport == "ccl") return "Time in seconds for GPU Direct MPI_Allreduce using NCCL/RCCL";
  if (transport == "mpi") return "Time in seconds for GPU Direct MPI_Allreduce using standard MPI library";
  if (transport == "staged") return "Time in seconds for MPI_Allreduce staged through host memory";
  return {};
}

std::string comment(const Record& record, const std::string& text) {
  return fmt::format("# {} over {}: {}\n", record.benchmark, record.transport, text);
}

const MetricStatistics* batch_of(const Result& result) {
  for (const MetricStatistics& metric : result.metrics()) {
    if (metric.metric.metric.name == "batch_s") return &metric;
  }
  return nullptr;
}

std::string line_of(const Result& result) {
  const Record& record = result.record();
  if (result.outcome().status != Status::ok) return comment(record, complaint(result.outcome()));
  const MetricStatistics* batch = batch_of(result);
  const std::string title = title_of(record.transport);
  if (batch == nullptr || title.empty()) return comment(record, "the DFT-FE mini-app has no line for this");
  // The mini-app's words are kept to the letter, also where they are not true: they speak of GPU memory.
  const std::string warning = record.memory == "device" ? "" : comment(record, "in " + record.memory + " memory");
  return warning + fmt::format("{}: {:.18e}\n", title, batch->statistics.median);
}

class DftfeReporter final : public Reporter {
 public:
  explicit DftfeReporter(std::ostream& out) : out_(out) {}

  void begin(const Start& /*start*/) override {}

  void add(const Start& /*start*/, std::span<const Result> group) override {
    for (const Result& result : group) out_ << line_of(result);
    out_.flush();
  }

 private:
  std::ostream& out_;
};

}  // namespace

ReporterDescription dftfe_reporter() {
  return {.name = "dftfe",
          .help = "allreduce in the words of the DFT-FE mini-app",
          .make = [](std::ostream& out) { return std::make_unique<DftfeReporter>(out); },
          .knows = [](std::string_view benchmark) { return benchmark == allreduce; }};
}

}  // namespace commlens::measure

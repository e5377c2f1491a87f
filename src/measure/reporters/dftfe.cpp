// The two lines of the DFT-FE mini-app (benchmarkDeviceDirectMPIAllreduce), so that old notes and new runs can be laid
// side by side; a third for what it does not measure. The figure is the seconds of the whole batch of calls.
#include <fmt/format.h>

#include "measure/reporters/formats.hpp"
#include "measure/reporters/text.hpp"

namespace commlens::measure {
namespace {

/// The words before the figure; empty for a transport that the mini-app's layout has no words for.
std::string title_of(const std::string& transport) {
  if (transport == "ccl") return "Time in seconds for GPU Direct MPI_Allreduce using NCCL/RCCL";
  if (transport == "mpi") return "Time in seconds for GPU Direct MPI_Allreduce using standard MPI library";
  if (transport == "staged") return "Time in seconds for MPI_Allreduce staged through host memory";
  return {};
}

std::string comment(const Record& record, const std::string& text) {
  return fmt::format("# {} over {}: {}\n", record.benchmark, record.transport, text);
}

std::string line_of(const Record& record) {
  if (record.benchmark != "allreduce") return comment(record, "not in this format: use table or json");
  const Outcome outcome = outcome_of(record);
  if (outcome.status != Status::ok) return comment(record, complaint(outcome));
  const Figure* batch = find_figure(record, "batch_s");
  const std::string title = title_of(record.transport);
  if (!batch || title.empty()) return comment(record, "the DFT-FE mini-app has no line for this");
  // The mini-app's words are kept to the letter, also where they are not true: they speak of GPU memory.
  const std::string warning = record.memory == "device" ? "" : comment(record, "in " + record.memory + " memory");
  return warning + fmt::format("{}: {:.18e}\n", title, statistics_of(record, *batch).median);
}

class DftfeReporter final : public Reporter {
 public:
  explicit DftfeReporter(std::ostream& out) : out_(out) {}

  void begin(const RunInformation& /*run*/) override {}

  void add(const RunInformation& /*run*/, std::span<const Record> group) override {
    for (const Record& record : group) out_ << line_of(record);
    out_.flush();
  }

 private:
  std::ostream& out_;
};

}  // namespace

ReporterDescription dftfe_reporter() {
  return {.name = "dftfe", .help = "allreduce in the words of the DFT-FE mini-app", .make = [](std::ostream& out) {
            return std::make_unique<DftfeReporter>(out);
          }};
}

}  // namespace commlens::measure

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "measure/examples.hpp"
#include "measure/record_json.hpp"
#include "measure/report.hpp"

namespace commlens::measure {
namespace {

using examples::allreduce;
using examples::latency;
using examples::report;

TEST(Reporters, AreFiveAndTheTableIsTheFirst) {
  std::vector<std::string> names;
  for (const auto& description : reporters()) {
    names.push_back(description.name);
    EXPECT_FALSE(description.help.empty());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"table", "json", "csv", "osu", "dftfe"}));
}

TEST(Reporters, WriteNothingForAnEmptyGroup) {
  for (const auto& description : reporters()) {
    const Start start = examples::start_with_gpus();
    EXPECT_EQ(report(description.name, start, {{}}), report(description.name, start, {}));
  }
}

TEST(JsonReporter, WritesTheLinesOfARecordFile) {
  const Start start = examples::start_with_gpus();
  const std::vector<Record> group = {latency(8, "mpi", "host", 29e-6),
                                     examples::skipped(latency(8, "ccl", "host", 1), "ccl needs a GPU")};
  EXPECT_EQ(report("json", start, {group}), start_line(start) + "\n" + record_line(start, Result(group[0])) + "\n" +
                                                record_line(start, Result(group[1])) + "\n");
}

const ReporterDescription& reporter(const std::string& name) {
  return *std::find_if(reporters().begin(), reporters().end(), [&](const auto& one) { return one.name == name; });
}

TEST(Reporters, OfClassicFormatsPrintWhatDeclaresALayout) {
  const auto benchmark = [](const std::string& name) {
    return examples::with_layouts(examples::start_with_gpus(), name).benchmark;
  };
  for (const char* name : {"table", "json", "csv"}) EXPECT_TRUE(reporter(name).can_print(benchmark("fft"))) << name;
  for (const char* name : {"osu", "dftfe"}) {
    EXPECT_FALSE(reporter(name).can_print(benchmark("fft"))) << name;
    EXPECT_TRUE(reporter(name).can_print(benchmark("allreduce"))) << name;
  }
  EXPECT_FALSE(reporter("dftfe").can_print(benchmark("latency")));
}

TEST(CsvReporter, WritesARowPerRecordUnderTheDeclaredColumns) {
  Start start = examples::start_without_gpus();
  start.benchmark = {.name = "latency",
                     .description = "",
                     .parameters = {{.name = "bytes", .option = "bytes", .unit = "", .help = ""}},
                     .metrics = {time_us},
                     .facts = {}};
  Record few = latency(8, "mpi", "host", 4e-6);
  few.samples_s = {4e-6};
  EXPECT_EQ(report("csv", start, {{few, examples::skipped(latency(16, "ccl", "host", 1), "no GPU, \"none\"")}}),
            R"(benchmark,ranks,transport,memory,bytes,status,samples,time_us,time_us_low,time_us_high,validation,reason
latency,2,mpi,host,8,ok,1,4,,,passed,
latency,2,ccl,host,16,skipped,0,,,,not reached,"no GPU, ""none"""
)");
  const std::string row = report("csv", start, {{latency(8, "mpi", "host", 4e-6)}});
  EXPECT_NE(row.find(",ok,10,"), std::string::npos) << row;
  EXPECT_EQ(row.find(",,,"), std::string::npos) << "ten samples have an interval: " << row;
}

TEST(DftfeReporter, WritesTheLinesOfTheMiniApp) {
  Record ccl = allreduce(80'000'000, "ccl", "device", 2.367997640000001347e-01);
  ccl.metrics[1].amount = 1;  // a batch of one, so that nothing is rounded
  const Record mpi = allreduce(80'000'000, "mpi", "device", 0.25);
  const Record staged = allreduce(80'000'000, "staged", "device", 0.5);
  EXPECT_EQ(report("dftfe", examples::start_with_gpus(), {{ccl, mpi, staged}}),
            R"(Time in seconds for GPU Direct MPI_Allreduce using NCCL/RCCL: 2.367997640000001347e-01
Time in seconds for GPU Direct MPI_Allreduce using standard MPI library: 1.250000000000000000e+01
Time in seconds for MPI_Allreduce staged through host memory: 2.500000000000000000e+01
)");
}

TEST(DftfeReporter, SaysInACommentWhatItHasNoLineFor) {
  const Record wrong = examples::wrong(allreduce(8, "mpi", "device", 1), "element 3 is 6,\nnot 7");
  const Record skipped = examples::skipped(allreduce(8, "ccl", "host", 1), "ccl needs a GPU");
  Record without_batch = allreduce(8, "mpi", "device", 1);
  without_batch.metrics.resize(1);
  EXPECT_EQ(report("dftfe", examples::start_with_gpus(),
                   {{wrong, skipped},
                    {latency(8, "mpi", "host", 1)},
                    {without_batch, allreduce(8, "shmem", "device", 1)},
                    {allreduce(8, "mpi", "host", 1)}}),
            R"(# allreduce over mpi: failed: element 3 is 6,; not 7
# allreduce over ccl: skipped: ccl needs a GPU
# latency over mpi: the DFT-FE mini-app has no line for this
# allreduce over mpi: the DFT-FE mini-app has no line for this
# allreduce over shmem: the DFT-FE mini-app has no line for this
# allreduce over mpi: in host memory
Time in seconds for GPU Direct MPI_Allreduce using standard MPI library: 5.000000000000000000e+01
)");
}

}  // namespace
}  // namespace commlens::measure

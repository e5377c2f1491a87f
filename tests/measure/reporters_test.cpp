// What each format prints; expected/ has the texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "measure/examples.hpp"
#include "measure/record_json.hpp"
#include "measure/report.hpp"

namespace commlens::measure {
namespace {

using examples::allreduce;
using examples::expected;
using examples::latency;
using examples::report;

TEST(Reporters, AreSixAndTheTableIsTheFirst) {
  std::vector<std::string> names;
  for (const auto& description : reporters()) {
    names.push_back(description.name);
    EXPECT_FALSE(description.help.empty());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"table", "json", "csv", "osu", "nccl", "dftfe"}));
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
  return *std::find_if(reporters().begin(), reporters().end(),
                       [&](const auto& reporter) { return reporter.name == name; });
}

TEST(Reporters, OfClassicFormatsPrintWhatDeclaresALayout) {
  const auto benchmark = [](const std::string& name) {
    return examples::with_layouts(examples::start_with_gpus(), name).benchmark;
  };
  for (const char* name : {"table", "json", "csv"}) EXPECT_TRUE(reporter(name).can_print(benchmark("fft"))) << name;
  for (const char* name : {"osu", "nccl", "dftfe"}) {
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
            expected());
  const std::string row = report("csv", start, {{latency(8, "mpi", "host", 4e-6)}});
  EXPECT_NE(row.find(",ok,10,"), std::string::npos) << row;
  EXPECT_EQ(row.find(",,,"), std::string::npos) << "ten samples have an interval: " << row;
}

TEST(DftfeReporter, WritesTheLinesOfTheMiniApp) {
  Record ccl = allreduce(80'000'000, "ccl", "device", 2.367997640000001347e-01);
  ccl.metrics[1].amount = 1;  // a batch of one, so that nothing is rounded
  const Record mpi = allreduce(80'000'000, "mpi", "device", 0.25);
  const Record staged = allreduce(80'000'000, "staged", "device", 0.5);
  EXPECT_EQ(report("dftfe", examples::start_with_gpus(), {{ccl, mpi, staged}}), expected());
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
            expected());
}

TEST(NcclReporter, WritesTheRowsOfNcclTests) {
  const Record wrong = examples::wrong(allreduce(16, "ccl", "device", 1), "element 3 is 6, not 7");
  Start start = examples::start_with_gpus();
  start.benchmark.parameters.push_back({.name = "reduction", .option = "reduction"});
  EXPECT_EQ(report("nccl", start,
                   {{allreduce(8, "ccl", "device", 11.2e-6)},
                    {wrong},
                    {allreduce(80'000'000, "ccl", "device", 268e-6)},
                    {allreduce(80'000'000, "staged", "device", 12.5)}}),
            expected());
}

using examples::bandwidth;

TEST(OsuReporter, WritesLatencyAsOsuDoes) {
  EXPECT_EQ(report("osu", examples::start_without_gpus(),
                   {{latency(1, "mpi", "host", 0.82e-6)}, {latency(4194304, "mpi", "host", 932e-6)}}),
            expected());
}

TEST(OsuReporter, NamesTheLibraryAndTheMemoryOfBothSides) {
  EXPECT_EQ(report("osu", examples::start_with_gpus(), {{latency(1, "mpi", "device:host", 29.2e-6)}}), expected());
}

std::string first_lines(const std::string& backend, const std::string& memory) {
  Start start = examples::start_with_gpus();
  start.backend = backend;
  const std::string text = report("osu", start, {{latency(1, "mpi", memory, 1)}});
  return text.substr(1, text.find("# Datatype") - 1);
}

TEST(OsuReporter, TakesPinnedMemoryForTheHosts) {
  EXPECT_EQ(first_lines("cuda", "pinned"), "# OSU MPI Latency Test v7.4\n# commlens 0.1.0\n");
  EXPECT_EQ(first_lines("cuda", "pinned:managed"),
            "# OSU MPI-CUDA Latency Test v7.4\n# commlens 0.1.0\n"
            "# Send Buffer on HOST (H) and Receive Buffer on MANAGED (M)\n");
  EXPECT_EQ(first_lines("hip", "device"),
            "# OSU MPI-ROCM Latency Test v7.4\n# commlens 0.1.0\n"
            "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n");
}

TEST(OsuReporter, WritesBandwidthsInMillionsOfBytes) {
  EXPECT_EQ(report("osu", examples::start_with_gpus(),
                   {{bandwidth("bandwidth", 1'000'000, "mpi", 64e-3)},
                    {bandwidth("bidirectional-bandwidth", 1'000'000, "mpi", 64e-3)}}),
            expected());
}

TEST(OsuReporter, DividesAllBytesByAllSeconds) {
  Record record = bandwidth("bandwidth", 1'000'000, "mpi", 64e-3);
  record.samples_s = {32e-3, 32e-3, 128e-3};  // the mean of the bandwidths would be 1500 MB/s
  const std::string text = report("osu", examples::start_without_gpus(), {{record}});
  EXPECT_TRUE(text.ends_with("\n1000000              1000.00\n")) << text;
}

TEST(OsuReporter, WritesMessageRates) {
  EXPECT_EQ(report("osu", examples::start_without_gpus(),
                   {{examples::message_rate(1, 4, 256e-7)}, {examples::message_rate(8, 4, 256e-7)}}),
            expected());
}

TEST(OsuReporter, GivesEachTransportASection) {
  const auto group = [](std::int64_t bytes) {
    return std::vector{allreduce(bytes, "mpi", "device", 199e-6),
                       examples::skipped(allreduce(bytes, "staged", "device", 1), "no host\nmemory"),
                       allreduce(bytes, "ccl", "device", 8.5e-6)};
  };
  EXPECT_EQ(report("osu", examples::start_with_gpus(), {group(8), group(80'000'000)}), expected());
}

TEST(OsuReporter, WritesOneHeaderPerTransportWhereOneIsUnavailable) {
  const auto unavailable = examples::skipped(latency(1, "ccl", "host", 1), "no GPU");
  const std::string text = report("osu", examples::start_without_gpus(),
                                  {{latency(1, "mpi", "host", 2e-6), latency(1, "staged", "host", 4e-6), unavailable},
                                   {latency(2, "mpi", "host", 2e-6), latency(2, "staged", "host", 4e-6)},
                                   {latency(4, "mpi", "host", 2e-6), latency(4, "staged", "host", 4e-6)}});
  for (const char* transport : {"mpi", "staged", "ccl"}) {
    const std::string header = std::string("# Transport: ") + transport + "\n";
    const auto first = text.find(header);
    EXPECT_NE(first, std::string::npos) << transport;
    EXPECT_EQ(text.find(header, first + 1), std::string::npos) << transport << " again:\n" << text;
  }
}

TEST(OsuReporter, WritesTheFirstTransportAsItComes) {
  std::ostringstream out;
  const auto reporter = examples::make_reporter("osu", out);
  const Start start = examples::with_layouts(examples::start_without_gpus(), "latency");
  const std::vector<Record> group = {latency(1, "mpi", "host", 2e-6), latency(1, "staged", "host", 4e-6)};
  reporter->add(start, examples::results_of(group));
  EXPECT_NE(out.str().find("# Transport: mpi\n"), std::string::npos);
  EXPECT_EQ(out.str().find("# Transport: staged\n"), std::string::npos);
  reporter->add(examples::with_layouts(start, "bandwidth"),
                examples::results_of({bandwidth("bandwidth", 1, "mpi", 1e-3)}));  // the sweep has ended
  EXPECT_LT(out.str().find("# Transport: staged\n"), out.str().find("Bandwidth Test"));
}

TEST(OsuReporter, LosesNothingWhereTheRunEndsEarly) {
  std::ostringstream out;
  {
    const auto reporter = examples::make_reporter("osu", out);
    const std::vector<Record> group = {latency(1, "mpi", "host", 2e-6), latency(1, "staged", "host", 4e-6)};
    const Start start = examples::with_layouts(examples::start_without_gpus(), "latency");
    reporter->add(start, examples::results_of(group));
  }
  EXPECT_NE(out.str().find("# Transport: staged\n"), std::string::npos);
}

TEST(OsuReporter, BeginsAnewWithOtherMemory) {
  EXPECT_EQ(report("osu", examples::start_with_gpus(),
                   {{latency(1, "mpi", "host", 2e-6)}, {latency(1, "mpi", "managed:device", 2e-6)}}),
            expected());
}

TEST(OsuReporter, SaysInACommentWhatFailed) {
  Record other = latency(1, "mpi", "host", 1);
  other.benchmark = "xtx";
  Record without_metric = latency(2, "mpi", "host", 1);
  without_metric.metrics.clear();
  EXPECT_EQ(report("osu", examples::start_without_gpus(),
                   {{examples::wrong(latency(1, "mpi", "host", 1), "byte 3")}, {without_metric}, {other}, {other}}),
            expected());
}

/// What follows the lines at the beginning.
std::string rows(const examples::Groups& groups) {
  const Start start = examples::start_with_gpus();
  return report("table", start, groups).substr(report("table", start, {}).size());
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(TableReporter, BeginsWithWhatRunsWhere) {
  EXPECT_EQ(report("table", examples::start_with_gpus(), {}), expected());
}

TEST(TableReporter, NamesNetworkAdaptersWhereThereAreSeveralNodes) {
  Start start = examples::start_with_gpus();
  start.nodes = 2;
  const std::string text = report("table", start, {});
  EXPECT_NE(text.find("NUMA 0); NIC mlx5_0 400 Gbit/s (InfiniBand, same PCIe switch)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("NUMA 0); NIC eth0 (Ethernet)\n"), std::string::npos) << text;
}

TEST(TableReporter, SumsUpManyRanks) {
  Start start = examples::start_without_gpus();
  start.ranks = 64;
  start.nodes = 16;
  start.placement.clear();
  for (int rank = 0; rank < 64; ++rank) {
    const std::string host = "node" + std::to_string(10 + rank / 4);
    start.placement.push_back({.rank = rank, .host = host, .cores = "0-7", .numa_nodes = "0", .gpu = {}});
  }
  EXPECT_EQ(report("table", start, {}),
            "# commlens 0.1.0, backend host, Open MPI 5.0.7\n# 64 ranks on 16 nodes\n"
            "#   on node10 ... node25, without GPUs\n");
  for (auto& place : start.placement) {
    const std::string pci = "0000:0" + std::to_string(place.rank % 2) + ":00.0";  // two ranks share a GPU
    place.gpu = Gpu{.ordinal = place.rank % 2, .name = "AMD MI250X", .uuid = "", .pci = pci, .memory_bytes = 1};
  }
  EXPECT_TRUE(report("table", start, {}).ends_with("#   on node10 ... node25, with 32 GPUs: AMD MI250X\n"));
}

TEST(TableReporter, HasARowForEachTransportAndTheNearestCeiling) {
  const auto group = [](std::int64_t bytes) {
    std::vector records = {allreduce(bytes, "mpi", "device", 0.12),
                           examples::skipped(allreduce(bytes, "staged", "device", 1), "no host\nmemory"),
                           allreduce(bytes, "ccl", "device", 285.1e-6)};
    for (Record& record : records) {
      record.ceilings = {examples::ceiling("memory copy", 33e-6), examples::ceiling("peer copy", 202e-6)};
    }
    return records;
  };
  EXPECT_EQ(rows({group(8), group(80'000'000)}), expected());
}

TEST(TableReporter, SaysWhetherResultsPassed) {
  Record unchecked = latency(4194304, "staged", "device:host", 58e-6);
  unchecked.validation.status = ValidationStatus::off;
  const Record wrong = examples::wrong(latency(4194304, "ccl", "device:host", 1e-6), "rank 1, byte 3");
  EXPECT_EQ(rows({{latency(4194304, "mpi", "device:host", 29e-6), unchecked, wrong}}), expected());
}

TEST(TableReporter, SaysThatThereAreTooFewSamplesForAnInterval) {
  Record few = examples::bandwidth("bandwidth", 1'000'000, "mpi", 64e-3);
  few.samples_s.resize(3);
  EXPECT_EQ(rows({{few}}), expected());
}

TEST(TableReporter, SaysWhereTheIntervalThatWasAskedForIsNotReached) {
  Record record = latency(8, "mpi", "host", 2e-6);
  record.repetition.until_ci_percent = 50;
  EXPECT_EQ(rows({{record}}).find("until-ci"), std::string::npos);
  record.repetition.until_ci_percent = 0.5;
  record.repetition.max_time_s = 3;
  EXPECT_NE(rows({{record}}).find("--until-ci 0.5%: not reached within --max-time 3 s: the interval is +-3"),
            std::string::npos)
      << rows({{record}});
  record.samples_s = {2e-6, 2e-6};
  EXPECT_NE(rows({{record}}).find("there is no interval after 2 samples"), std::string::npos);
}

TEST(TableReporter, HasATitleWhereTheSettingsChange) {
  Record other = allreduce(8, "mpi", "host", 1e-3);
  other.parameters[2].value = std::string("f32");
  const Record record = allreduce(8, "mpi", "host", 1e-3);
  EXPECT_EQ(count(rows({{record}, {record}}), "# "), 1U);
  EXPECT_EQ(count(rows({{record}, {other}, {record}}), "# "), 3U);
  EXPECT_EQ(count(rows({{record}, {latency(8, "mpi", "host", 1e-3)}}), "# "), 2U);
}

TEST(TableReporter, NamesSweepsThatAreNotOverBytesAndVariants) {
  Record record = latency(1, "mpi", "host", 2e-6);
  record.benchmark = "fft";
  record.parameters = {{"grid", std::string("64x64x64")}};
  Record variant = examples::candidate("mpi", "pairwise", 50e-6);
  variant.parameters.push_back({"mode", std::string("pairwise"), Role::variant, ""});
  EXPECT_EQ(rows({{examples::overlapped("staged", 1), examples::overlapped("ccl", 0.9)}, {record}, {variant}}),
            expected());
}

TEST(TableReporter, UsesEachRecordsOwnAmount) {
  const std::string text = rows({{examples::bandwidth("bandwidth", 1'000'000, "mpi", 64e-3)},
                                 {examples::bandwidth("bandwidth", 8'000'000, "mpi", 64e-3)}});
  EXPECT_NE(text.find(" 8.000 GB/s ["), std::string::npos) << text;
}

TEST(TableReporter, SaysWhyNumbersAreMissing) {
  EXPECT_NE(rows({{examples::bandwidth("bandwidth", 8, "mpi", 0)}})
                .find("failed: bandwidth_GBps is inf for a sample of 0 s\n"),
            std::string::npos);
}

TEST(TableReporter, SaysWhatWasChosen) {
  Start start = examples::start_without_gpus();
  start.notes = {"scaled to the memory"};
  EXPECT_NE(report("table", start, {}).find("\n# note: scaled to the memory\n"), std::string::npos);
}

}  // namespace
}  // namespace commlens::measure

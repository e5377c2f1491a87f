#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/examples.hpp"
#include "measure/report.hpp"

namespace commlens::measure {
namespace {

using examples::allreduce;
using examples::latency;
using examples::report;

/// What follows the lines at the beginning.
std::string rows(const examples::Groups& groups) {
  const Start start = examples::start_with_gpus();
  return report("table", start, groups).substr(report("table", start, {}).size());
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(TableReporter, BeginsWithWhatRunsWhere) {
  EXPECT_EQ(report("table", examples::start_with_gpus(), {}),
            R"(# commlens 0.1.0, backend cuda, Open MPI 5.0.7, NCCL 2.28.3
# 2 ranks on 1 node
#   rank 0: node01, cores 0-15, NUMA 0; GPU 0 NVIDIA H200 (0000:19:00.0, NUMA 0)
#   rank 1: node01, cores 16-31, NUMA 1; GPU 1 NVIDIA H200 (0000:3b:00.0, NUMA 0)
)");
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
  EXPECT_EQ(rows({group(8), group(80'000'000)}),
            R"(
# allreduce: dtype=f64, in_place=true (timing batch); medians [95% intervals]
       8 B  mpi     device  time 120,000 us [116,400, 123,600]  1/594 of ceiling  passed
       8 B  staged  device  skipped: no host; memory
       8 B  ccl     device  time 285.1 us [276.5, 293.7]  71% of ceiling  passed
  76.3 MiB  mpi     device  time 120,000 us [116,400, 123,600]  1/594 of ceiling  passed
  76.3 MiB  staged  device  skipped: no host; memory
  76.3 MiB  ccl     device  time 285.1 us [276.5, 293.7]  71% of ceiling  passed
)");
}

TEST(TableReporter, SaysWhetherResultsPassed) {
  Record unchecked = latency(4194304, "staged", "device:host", 58e-6);
  unchecked.validation.status = ValidationStatus::off;
  const Record wrong = examples::wrong(latency(4194304, "ccl", "device:host", 1e-6), "rank 1, byte 3");
  EXPECT_EQ(rows({{latency(4194304, "mpi", "device:host", 29e-6), unchecked, wrong}}),
            R"(
# latency (timing each); medians [95% intervals]
     4 MiB  mpi     device:host  latency 14.50 us [14.06, 14.94]  passed
     4 MiB  staged  device:host  latency 29.00 us [28.13, 29.87]  off
     4 MiB  ccl     device:host  latency 0.5000 us [0.4850, 0.5150]  failed: rank 1, byte 3
)");
}

TEST(TableReporter, SaysThatThereAreTooFewSamplesForAnInterval) {
  Record few = examples::bandwidth("bandwidth", 1'000'000, "mpi", 64e-3);
  few.samples_s.resize(3);
  EXPECT_EQ(rows({{few}}),
            R"(
# bandwidth: window=64 (timing each); medians [95% intervals]
   977 KiB  mpi     device  bandwidth 1.000 GB/s [3 samples]  passed
)");
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
            R"(
# xtx: vectors=14640, overlap=true (timing each); medians [95% intervals]
 block 732  staged  device  time 1.000 s [0.9700, 1.030]  75% of ceiling  passed
 block 732  ccl     device  time 0.9000 s [0.8730, 0.9270]  75% of ceiling  passed

# fft: grid=64x64x64 (timing each); medians [95% intervals]
  mpi     host    latency 1.000 us [0.9700, 1.030]  passed

# gather-scatter: order=7 (timing each); medians [95% intervals]
  mpi     device  pairwise  time 50.00 us [48.50, 51.50]  passed
)");
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

#include <gtest/gtest.h>

#include <sstream>

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
# warning: UCX_MEMTYPE_CACHE is not n
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
# allreduce: dtype=f64, in_place=true (timing batch)
#      size  transport  memory         time (us) [95% interval]           of ceiling  check
        8 B  mpi        device            120000 [116400, 123600]              1/594  passed
        8 B  staged     device         skipped
#    skipped: no host; memory
        8 B  ccl        device             285.1 [276.5, 293.7]                70.9%  passed
      80 MB  mpi        device            120000 [116400, 123600]              1/594  passed
      80 MB  staged     device         skipped
#    skipped: no host; memory
      80 MB  ccl        device             285.1 [276.5, 293.7]                70.9%  passed
)");
}

TEST(TableReporter, SaysWhetherResultsPassed) {
  Record unchecked = latency(4194304, "staged", "device:host", 58e-6);
  unchecked.validation.status = ValidationStatus::off;
  const Record wrong = examples::wrong(latency(4194304, "ccl", "device:host", 1e-6), "rank 1, byte 3");
  EXPECT_EQ(rows({{latency(4194304, "mpi", "device:host", 29e-6), unchecked, wrong}}),
            R"(
# latency (timing each)
#      size  transport  memory         latency (us) [95% interval]        of ceiling  check
      4 MiB  mpi        device:host        14.50 [14.06, 14.94]                    -  passed
      4 MiB  staged     device:host        29.00 [28.13, 29.87]                    -  off
      4 MiB  ccl        device:host        0.500 [0.485, 0.515]                    -  failed
#    failed: rank 1, byte 3
)");
}

TEST(TableReporter, SaysThatThereAreTooFewSamplesForAnInterval) {
  Record few = examples::bandwidth("bandwidth", 1'000'000, "mpi", 64e-3);
  few.samples_s.resize(3);
  EXPECT_EQ(rows({{few}}),
            R"(
# bandwidth: window=64 (timing each)
#      size  transport  memory         bandwidth (GB/s) [95% interval]    of ceiling  check
       1 MB  mpi        device              1.00 [3 samples]                       -  passed
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

TEST(TableReporter, IsNoWiderThan100Columns) {
  Record record = latency(4194304, "neighborly", "managed:managed", 123456.789);
  record.parameters.push_back({"mode", std::string("crystal-router"), Role::variant, ""});
  record.ceilings = {examples::ceiling("peer copy", 202e-6)};
  for (int i = 0; i < 12; ++i) record.parameters.push_back({"setting_" + std::to_string(i), true});
  const Record failed = examples::wrong(record, std::string(40, 'x') + " and " + std::string(70, 'y') + " and so on");
  std::istringstream lines(rows({{record, failed}}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(TableReporter, RepeatsTheHeadingsOnlyWhereTheSettingsChange) {
  Record other = allreduce(8, "mpi", "host", 1e-3);
  other.parameters[2].value = std::string("f32");
  const Record record = allreduce(8, "mpi", "host", 1e-3);
  EXPECT_EQ(count(rows({{record}, {record}}), "transport"), 1U);
  EXPECT_EQ(count(rows({{record}, {other}, {record}}), "transport"), 3U);
  EXPECT_EQ(count(rows({{record}, {latency(8, "mpi", "host", 1e-3)}}), "transport"), 2U);
}

TEST(TableReporter, AddsHeadingsWhereTheFirstRecordsHadNoMetrics) {
  Record skipped = examples::skipped(latency(1, "mpi", "host", 1), "too small");
  skipped.metrics.clear();
  const std::string text = rows({{skipped}, {latency(2, "mpi", "host", 2e-6)}, {skipped}});
  EXPECT_EQ(count(text, "transport"), 2U) << text;
  EXPECT_EQ(count(text, "skipped: too small\n"), 2U) << text;
  EXPECT_NE(text.find("1.00 [0.97, 1.03]"), std::string::npos) << text;
}

TEST(TableReporter, WritesBenchmarksWithoutASize) {
  Record record = latency(1, "mpi", "host", 2e-6);
  record.benchmark = "fft";
  record.parameters = {{"grid", std::string("64x64x64")}};
  const std::string text = rows({{record}});
  EXPECT_EQ(count(text, "size"), 0U) << text;
  EXPECT_NE(text.find("# fft: grid=64x64x64 (timing each)\n"), std::string::npos) << text;
}

TEST(TableReporter, NamesASweepThatIsNotOverBytes) {
  EXPECT_EQ(rows({{examples::overlapped("staged", 1), examples::overlapped("ccl", 0.9)}}),
            R"(
# xtx: vectors=14640, overlap=true (timing each)
#     block  transport  memory          time (s) [95% interval]           of ceiling  check
        732  staged     device              1.00 [0.97, 1.03]                  75.0%  passed
        732  ccl        device             0.900 [0.873, 0.927]                75.0%  passed
)");
}

TEST(TableReporter, HasAColumnForVariants) {
  const auto variant = [](const std::string& mode, double seconds) {
    Record record = examples::candidate("mpi", mode, seconds);
    record.parameters.push_back({"mode", mode, Role::variant, ""});
    return record;
  };
  EXPECT_EQ(rows({{variant("pairwise", 50e-6), variant("crystal-router", 20e-6)}}),
            R"(
# gather-scatter: order=7 (timing each)
# transport  memory         mode            time (us) [95% interval]           of ceiling  check
  mpi        device         pairwise            50.00 [48.50, 51.50]                    -  passed
  mpi        device         crystal-router      20.00 [19.40, 20.60]                    -  passed
)");
}

TEST(TableReporter, UsesEachRecordsOwnAmount) {
  const std::string text = rows({{examples::bandwidth("bandwidth", 1'000'000, "mpi", 64e-3)},
                                 {examples::bandwidth("bandwidth", 8'000'000, "mpi", 64e-3)}});
  EXPECT_NE(text.find(" 8.00 ["), std::string::npos) << text;
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

#include <gtest/gtest.h>

#include <limits>

#include "measure/examples.hpp"
#include "measure/report.hpp"

namespace commlens::measure {
namespace {

using examples::allreduce;
using examples::latency;
using examples::report;

/// What follows the block at the beginning.
std::string rows(const examples::Groups& groups) {
  const RunInformation run = examples::run_with_gpus();
  return report("table", run, groups).substr(report("table", run, {}).size());
}

TEST(TableReporter, BeginsWithWhatRunsWhere) {
  EXPECT_EQ(report("table", examples::run_with_gpus(), {}),
            R"(# commlens 0.1.0, backend cuda, Open MPI 5.0.7, NCCL 2.28.3
# 2 ranks on 1 node
#   rank 0: node01, cores 0-15, NUMA 0; GPU 0 NVIDIA H200 (0000:19:00.0, NUMA 0)
#   rank 1: node01, cores 16-31, NUMA 1; GPU 1 NVIDIA H200 (0000:3b:00.0, NUMA 0)
# warning: UCX_MEMTYPE_CACHE is not n
)");
}

TEST(TableReporter, SumsUpManyRanks) {
  RunInformation run = examples::run_without_gpus();
  run.ranks = 64;
  run.nodes = 16;
  run.versions["mpi"] = "4.1";
  run.placement.clear();
  for (int rank = 0; rank < 64; ++rank) {
    const std::string host = "node" + std::to_string(10 + rank / 4);
    run.placement.push_back({.rank = rank, .host = host, .cores = "0-7", .numa_nodes = "0", .gpu = {}});
  }
  EXPECT_EQ(
      report("table", run, {}),
      "# commlens 0.1.0, backend host, MPI 4.1\n# 64 ranks on 16 nodes\n#   on node10 ... node25, without GPUs\n");
  for (auto& place : run.placement) {
    const std::string pci = "0000:0" + std::to_string(place.rank % 2) + ":00.0";  // two ranks share a GPU
    place.gpu = Gpu{.ordinal = place.rank % 2, .name = "AMD MI250X", .uuid = "", .pci = pci, .memory_bytes = 1};
  }
  EXPECT_TRUE(report("table", run, {}).ends_with("#   on node10 ... node25, with 32 GPUs: AMD MI250X\n"));
}

TEST(TableReporter, ComparesTransports) {
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
# allreduce: dtype=f64, in_place=true (timing batch, transports compared)
#                                                                                                  algorithm        bus
#                                                          time                             batch  bandwidth  bandwidth    ceiling     % of  ceiling
#      size         bytes  transport  memory                 us [95% interval]                  s       GB/s       GB/s         us  ceiling  is                    vs best  check
        8 B             8  mpi        device             120000 [116400, 123600]             6.00  6.667e-08  6.667e-08      202.0    0.17%  peer copy         421x slower  exact
        8 B             8  staged     device          skipped: no host; memory
        8 B             8  ccl        device              285.1 [276.5, 293.7]             0.0143  0.0000281  0.0000281      202.0    70.9%  peer copy               1.00x  exact
      80 MB      80000000  mpi        device             120000 [116400, 123600]             6.00      0.667      0.667      202.0    0.17%  peer copy         421x slower  exact
      80 MB      80000000  staged     device          skipped: no host; memory
      80 MB      80000000  ccl        device              285.1 [276.5, 293.7]             0.0143      280.6      280.6      202.0    70.9%  peer copy               1.00x  exact
)");
}

TEST(TableReporter, MarksWhatIsWrongAndLeavesItOutOfTheComparison) {
  Record unchecked = latency(4194304, "staged", "device:host", 58e-6);
  unchecked.validation.status = ValidationStatus::off;
  const Record wrong = examples::wrong(latency(4194304, "ccl", "device:host", 1e-6), "rank 1, byte 3");
  EXPECT_EQ(rows({{latency(4194304, "mpi", "device:host", 29e-6), unchecked, wrong}}),
            R"(
# latency (timing each, transports compared)
#                                                       latency                           ceiling     % of  ceiling
#      size         bytes  transport  memory                 us [95% interval]                 us  ceiling  is                    vs best  check
      4 MiB       4194304  mpi        device:host         14.50 [14.06, 14.94]                  -        -  -                       1.00x  exact
      4 MiB       4194304  staged     device:host         29.00 [28.13, 29.87]                  -        -  -                2.00x slower  off
      4 MiB       4194304  ccl        device:host         0.500 [0.485, 0.515]                  -        -  -                           -  WRONG  failed: rank 1, byte 3
)");
}

TEST(TableReporter, NeedsNoSecondTransport) {
  Record few = examples::bandwidth("bandwidth", 1'000'000, "mpi", 64e-3);
  few.samples_s.resize(3);
  EXPECT_EQ(rows({{few}}),
            R"(
# bandwidth: window=64 (timing each)
#                                                     bandwidth                           ceiling     % of  ceiling
#      size         bytes  transport  memory               GB/s [95% interval]               GB/s  ceiling  is              check
       1 MB       1000000  mpi        device               1.00 [3 samples]                     -        -  -               exact
)");
}

TEST(TableReporter, TakesTheHighestForTheBestOfARate) {
  const std::string text = rows({{examples::bandwidth("bandwidth", 1'000'000, "mpi", 64e-3),
                                  examples::bandwidth("bandwidth", 1'000'000, "ccl", 32e-3)}});
  const std::size_t slower = text.find("2.00x slower");
  EXPECT_LT(text.find(" mpi "), slower) << text;
  EXPECT_LT(slower, text.find(" ccl ")) << text;
  EXPECT_NE(text.find(" 1.00x ", text.find(" ccl ")), std::string::npos) << text;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(TableReporter, RepeatsTheHeadingsOnlyWhereTheSettingsChange) {
  Record other = allreduce(8, "mpi", "host", 1e-3);
  other.parameters[2].second = std::string("f32");
  const Record record = allreduce(8, "mpi", "host", 1e-3);
  EXPECT_EQ(count(rows({{record}, {record}}), "transport"), 1U);
  EXPECT_EQ(count(rows({{record}, {other}, {record}}), "transport"), 3U);
  EXPECT_EQ(count(rows({{record}, {latency(8, "mpi", "host", 1e-3)}}), "transport"), 2U);
}

TEST(TableReporter, AddsHeadingsWhereTheFirstRecordsHadNoFigures) {
  Record skipped = examples::skipped(latency(1, "mpi", "host", 1), "too small");
  skipped.figures.clear();
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
  EXPECT_EQ(count(text, "bytes"), 0U) << text;
  EXPECT_NE(text.find("# fft: grid=64x64x64 (timing each)\n"), std::string::npos) << text;
}

TEST(TableReporter, UsesEachRecordsOwnFigures) {
  const std::string text = rows({{examples::bandwidth("bandwidth", 1'000'000, "mpi", 64e-3)},
                                 {examples::bandwidth("bandwidth", 8'000'000, "mpi", 64e-3)}});
  EXPECT_NE(text.find(" 8.00 ["), std::string::npos) << text;
}

TEST(TableReporter, SaysWhyNumbersAreMissing) {
  EXPECT_NE(rows({{examples::bandwidth("bandwidth", 8, "mpi", 0)}})
                .find("failed: bandwidth_GBps is inf for a sample of 0 s\n"),
            std::string::npos);
}

TEST(TableReporter, ShowsEachPartAloneAndAllCeilings) {
  EXPECT_EQ(rows({{examples::overlapped("staged", 1), examples::overlapped("ccl", 0.9)}}),
            R"(
# xtx: vectors=14640, block=732, overlap=true (timing each, transports compared)
#                                                                            overlap  multiplications  reductions     copies
#                                 time                              rank  efficiency            alone       alone      alone    ceiling     % of  ceiling
# transport  memory                  s [95% interval]            TFLOP/s                            s           s          s          s  ceiling  is                    vs best  check
  staged     device               1.00 [0.97, 1.03]                45.00       0.800            0.800       0.300      0.100      0.750    75.0%  square GEMM      1.11x slower  right
  ccl        device              0.900 [0.873, 0.927]              50.00       0.800            0.720       0.270     0.0900      0.675    75.0%  square GEMM             1.00x  right
#   ceilings of staged: square GEMM 60.00 TFLOP/s (75.0%), copy to host 55.20 GB/s (9.00%)
#   ceilings of ccl: square GEMM 60.00 TFLOP/s (75.0%), copy to host 55.20 GB/s (9.00%)
)");
}

TEST(TableReporter, PrintsReportsFirstAndWhatAnApplicationWouldUseLast) {
  using examples::candidate;
  const auto wrong = examples::wrong(candidate("mpi", "neighbor+device", 1e-6), "rank 1, node 3");
  EXPECT_EQ(rows({{candidate("mpi", "pairwise+device", 50e-6), candidate("staged", "pairwise+hybrid", 20e-6), wrong}}),
            R"(
mesh of 64000 elements

gs_setup: 236041 unique labels shared
   pairwise times: 1

# gather-scatter: order=7 (timing each, transports compared)
#                                 time                                      ceiling     % of  ceiling
# transport  memory                 us [95% interval]            GFLOP/s         us  ceiling  is                    vs best  check
  mpi        device              50.00 [48.50, 51.50]               2.00          -        -  -                2.50x slower  exact
  staged     device              20.00 [19.40, 20.60]               5.00          -        -  -                       1.00x  exact
  mpi        device               1.00 [0.97, 1.03]                100.0          -        -  -                           -  WRONG  failed: rank 1, node 3
used config: pairwise+hybrid (MPI min: 1)
)");
}

TEST(TableReporter, PrintsEqualBlocksOfAStartOnceAndHeadingsBehindANewOne) {
  auto second = examples::candidate("mpi", "pairwise+device", 60e-6);
  auto third = second;
  third.report.back() = "   pairwise times: 2";
  const std::string text = rows({{examples::candidate("mpi", "pairwise+device", 50e-6)}, {second}, {third}});
  const auto count = [&](const std::string& words) {
    std::size_t found = 0;
    for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("mesh of 64000 elements"), 1U);
  EXPECT_EQ(count("gs_setup:"), 2U) << "a block is printed whole";
  EXPECT_EQ(count("# gather-scatter"), 2U) << text;
  EXPECT_EQ(count("used config:"), 3U);
}

TEST(TableReporter, NamesNothingUsedWhereNoCandidateIsRight) {
  const auto skipped = examples::skipped(examples::candidate("ccl", "ccl+device", 1), "ccl needs a GPU");
  auto odd = examples::candidate("mpi", "pairwise+device", 1);
  odd.candidate->seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(rows({{skipped, odd}}).find("used config"), std::string::npos);
}

TEST(TableReporter, SaysWhatWasChosen) {
  RunInformation run = examples::run_without_gpus();
  run.notes = {"scaled to the memory"};
  EXPECT_NE(report("table", run, {}).find("\n# note: scaled to the memory\n"), std::string::npos);
}

}  // namespace
}  // namespace commlens::measure

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "measure/examples.hpp"
#include "measure/report.hpp"

namespace commlens::measure {
namespace {

using examples::allreduce;
using examples::bandwidth;
using examples::latency;
using examples::report;

TEST(OsuReporter, WritesLatencyAsOsuDoes) {
  EXPECT_EQ(report("osu", examples::start_without_gpus(),
                   {{latency(1, "mpi", "host", 0.82e-6)}, {latency(4194304, "mpi", "host", 932e-6)}}),
            R"(
# OSU MPI Latency Test v7.4
# commlens 0.1.0
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1                       0.41
4194304               466.00
)");
}

TEST(OsuReporter, NamesTheLibraryAndTheMemoryOfBothSides) {
  EXPECT_EQ(report("osu", examples::start_with_gpus(), {{latency(1, "mpi", "device:host", 29.2e-6)}}),
            R"(
# OSU MPI-CUDA Latency Test v7.4
# commlens 0.1.0
# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1                      14.60
)");
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
            R"(
# OSU MPI-CUDA Bandwidth Test v7.4
# commlens 0.1.0
# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
1000000              1000.00

# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.4
# commlens 0.1.0
# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
1000000              2000.00
)");
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
            R"(
# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# commlens 0.1.0
# [ pairs: 4 ] [ window size: 64 ]
# Datatype: MPI_CHAR.
# Size                  MB/s        Messages/s
1                      10.00       10000000.00
8                      80.00       10000000.00
)");
}

TEST(OsuReporter, GivesEachTransportASection) {
  const auto group = [](std::int64_t bytes) {
    return std::vector{allreduce(bytes, "mpi", "device", 199e-6),
                       examples::skipped(allreduce(bytes, "staged", "device", 1), "no host\nmemory"),
                       allreduce(bytes, "ccl", "device", 8.5e-6)};
  };
  EXPECT_EQ(report("osu", examples::start_with_gpus(), {group(8), group(80'000'000)}),
            R"(
# OSU MPI-CUDA Allreduce Latency Test v7.4
# commlens 0.1.0
# Transport: mpi
# Datatype: MPI_DOUBLE.
# Size       Avg Latency(us)
8                     199.00
80000000              199.00

# OSU MPI-CUDA Allreduce Latency Test v7.4
# commlens 0.1.0
# Transport: staged
# Datatype: MPI_DOUBLE.
# Size       Avg Latency(us)
# skipped: size 8: no host; memory
# skipped: size 80000000: no host; memory

# OSU MPI-CUDA Allreduce Latency Test v7.4
# commlens 0.1.0
# Transport: ccl
# Datatype: MPI_DOUBLE.
# Size       Avg Latency(us)
8                       8.50
80000000                8.50
)");
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
            R"(
# OSU MPI Latency Test v7.4
# commlens 0.1.0
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1                       1.00

# OSU MPI-CUDA Latency Test v7.4
# commlens 0.1.0
# Send Buffer on MANAGED (M) and Receive Buffer on DEVICE (D)
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1                       1.00
)");
}

TEST(OsuReporter, SaysInACommentWhatFailed) {
  Record other = latency(1, "mpi", "host", 1);
  other.benchmark = "xtx";
  Record without_metric = latency(2, "mpi", "host", 1);
  without_metric.metrics.clear();
  EXPECT_EQ(report("osu", examples::start_without_gpus(),
                   {{examples::wrong(latency(1, "mpi", "host", 1), "byte 3")}, {without_metric}, {other}, {other}}),
            R"(
# OSU MPI Latency Test v7.4
# commlens 0.1.0
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
# failed: size 1: byte 3
# failed: size 2: the record has no metric latency_us
)");
}

}  // namespace
}  // namespace commlens::measure

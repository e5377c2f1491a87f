// Ranks of one machine that take themselves for ranks of several nodes, and connect through the loopback interface.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "harness/ceiling.hpp"
#include "harness/node_poll.hpp"
#include "harness/tcp_stream.hpp"
#include "transport/rank_device.hpp"
#include "world.hpp"

namespace commlens {
namespace {

constexpr TcpStream::Settings loopback{.loopback = true, .round_s = 0.02};
/// Nothing, one byte, odd sizes, more than a socket takes at once.
constexpr std::size_t sizes[] = {0, 1, 7, 4097, 3'000'001};

void expect_transfers(TcpStream& stream, bool sends) {
  ASSERT_EQ(stream.problem(), "");
  EXPECT_EQ(stream.interface().empty(), !sends);
  for (const std::size_t bytes : sizes) {
    EXPECT_EQ(stream.transfer(0, 3, bytes) > 0, sends) << bytes;
    EXPECT_EQ(stream.transfer(2, 3, bytes) > 0, sends) << bytes << " after a lead";
  }
}

TEST(TcpStream, OneWay) {
  const int half = world().size() / 2;
  const bool sends = world().rank() < half;
  TcpStream stream(world(), sends ? world().rank() + half : -1, loopback);
  expect_transfers(stream, sends);
}

TEST(TcpStream, BothWays) {
  const int peer = world().rank() ^ 1;
  const bool sends = peer < world().size();
  TcpStream stream(world(), sends ? peer : -1, loopback);
  expect_transfers(stream, sends);
}

TEST(TcpStream, RingAndOfARankToItself) {
  TcpStream stream(world(), (world().rank() + 1) % world().size(), loopback);
  expect_transfers(stream, true);
}

TEST(TcpStream, ManyToOne) {
  const bool sends = world().rank() > 0;
  TcpStream stream(world(), sends ? 0 : -1, loopback);
  expect_transfers(stream, sends);
}

TEST(TcpStream, SeveralAtTheSameTimeDoNotMixUp) {
  const int size = world().size();
  TcpStream up(world(), (world().rank() + 1) % size, loopback);
  TcpStream down(world(), (world().rank() + size - 1) % size, loopback);
  expect_transfers(down, true);
  expect_transfers(up, true);
}

TEST(TcpStream, APeerThatDoesNotListenIsAProblemOfAllRanks) {
  const int last = world().size() - 1;
  const bool listens = world().rank() != last;
  const TcpStream stream(world(), world().rank() == 0 ? last : -1,
                         {.loopback = true, .listens = listens, .connect_s = 0.2});
  EXPECT_EQ(stream.problem().rfind("no TCP connection from ", 0), 0U) << stream.problem();
}

TEST(TcpStream, ABrokenConnectionIsAnError) {
  if (world().size() < 2) GTEST_SKIP() << "needs a peer";
  const bool sends = world().rank() == 0;
  auto stream = std::make_unique<TcpStream>(world(), sends ? 1 : -1, loopback);
  ASSERT_EQ(stream->problem(), "");
  if (!sends) stream.reset();
  world().barrier();
  if (sends) {
    EXPECT_THROW(stream->transfer(0, 1000, 100'000), Error);
  }
}

using device::Memory;

class NodeCeiling : public testing::Test {
 protected:
  /// So many ranks on each node.
  Ceilings ceilings(int ranks_per_node, const std::string& link_layer, TcpStream::Settings streams = loopback) {
    for (int rank = 0; rank < world().size(); ++rank) {
      placement.push_back({rank,
                           "node" + std::to_string(rank / ranks_per_node),
                           "0",
                           "0",
                           std::nullopt,
                           {{.name = "nic", .link_layer = link_layer, .rate_Gbps = 8}}});
    }
    return {world(), *device, placement, streams};
  }
  [[nodiscard]] CopyCeiling ring(std::size_t bytes) const {
    return {.bytes = bytes, .copies = 2, .peer = (world().rank() + 1) % world().size()};
  }
  void SetUp() override {
    if (world().size() < 2) GTEST_SKIP() << "one rank has no other node";
  }

  std::unique_ptr<device::Device> device = open_rank_device(0);
  std::vector<measure::Placement> placement;
};

TEST_F(NodeCeiling, IsATcpStreamWithoutRdma) {
  auto measured = ceilings(1, "Ethernet");
  const auto [ceiling, reason] = measured.measure(ring(4096), Memory::host, Memory::host, {});
  ASSERT_TRUE(ceiling) << reason;
  EXPECT_EQ(ceiling->name, "TCP stream over lo");
  EXPECT_NEAR(ceiling->seconds, 2 * 4096 / (ceiling->rate * 1e9), 1e-3 * ceiling->seconds) << "of both copies";
  EXPECT_NE(ceiling->method.find("messages of 4096 bytes"), std::string::npos) << ceiling->method;
}

TEST_F(NodeCeiling, LargeMessagesShareOneMeasurement) {
  auto measured = ceilings(1, "Ethernet");
  const auto first = measured.measure(ring(1 << 20), Memory::host, Memory::host, {}).ceiling;
  const auto second = measured.measure(ring(3 << 20), Memory::host, Memory::host, {}).ceiling;
  ASSERT_TRUE(first && second);
  EXPECT_DOUBLE_EQ(first->rate, second->rate);
  EXPECT_NEAR(3 * first->seconds, second->seconds, 1e-6 * second->seconds);
}

TEST_F(NodeCeiling, RanksWithAPeerOnTheirNodeCopyAtTheSameTime) {
  if (world().size() < 4) GTEST_SKIP() << "needs two nodes of two ranks";
  auto measured = ceilings(2, "Ethernet");
  const auto ceiling = measured.measure(ring(100'000), Memory::host, Memory::host, {}).ceiling;
  ASSERT_TRUE(ceiling);
  EXPECT_NE(ceiling->method.find("by 2 ranks"), std::string::npos) << ceiling->method;
  EXPECT_NE(ceiling->method.find("whose peer is on their node copy"), std::string::npos) << ceiling->method;
}

TEST_F(NodeCeiling, IsTheNominalRateWithRdma) {
  auto measured = ceilings(1, "InfiniBand");
  const auto ceiling = measured.measure(ring(1'000'000), Memory::host, Memory::host, {}).ceiling;
  ASSERT_TRUE(ceiling);
  EXPECT_EQ(ceiling->name, "link rate");
  EXPECT_DOUBLE_EQ(ceiling->rate, 1) << "8 Gbit/s";
  EXPECT_DOUBLE_EQ(ceiling->seconds, 2e-3);
  EXPECT_EQ(ceiling->method.rfind("nominal, not measured", 0), 0U) << ceiling->method;
}

TEST_F(NodeCeiling, SaysWhyThereIsNone) {
  auto measured = ceilings(1, "Ethernet", {.loopback = true, .listens = false, .connect_s = 0.2});
  const auto [ceiling, reason] = measured.measure(ring(8), Memory::host, Memory::host, {});
  EXPECT_FALSE(ceiling);
  EXPECT_EQ(reason.rfind("no TCP connection from ", 0), 0U) << reason;
  EXPECT_EQ(measured.measure(ring(8), Memory::host, Memory::host, {}).reason, reason) << "and keeps it";
  EXPECT_FALSE(measured.measure(ring(0), Memory::host, Memory::host, {}).reason.empty());
}

TEST_F(NodeCeiling, OfMemoryIsTheBestRateOfAllThatWereMeasured) {
  auto measured = ceilings(world().size(), "Ethernet");
  const MemoryCeiling solve{.bytes = 1e9, .working_set = 100'000, .part = "vectors"};
  const auto before = measured.measure(solve, Memory::host, {});
  ASSERT_TRUE(before);
  EXPECT_EQ(before->name, "memory bandwidth");
  EXPECT_EQ(before->part, "vectors");
  EXPECT_NEAR(before->seconds, 1 / before->rate, 1e-9 * before->seconds);
  EXPECT_DOUBLE_EQ(measured.measure(solve, Memory::host, {})->rate, before->rate) << "known";
  EXPECT_GE(measured.measure(solve, Memory::host, 0.1)->rate, before->rate) << "the better one";
  const MemoryCeiling larger{.bytes = 1e9, .working_set = 300'000};
  EXPECT_NE(measured.measure(larger, Memory::host, {})->rate, before->rate) << "measured by itself";
}

TEST_F(NodeCeiling, OfAMessageIsNotWorseAfterTheCase) {
  auto measured = ceilings(world().size(), "Ethernet");
  const auto before = measured.measure(ring(100'000), Memory::host, Memory::host, {}).ceiling;
  const auto after = measured.measure(ring(100'000), Memory::host, Memory::host, 0.1).ceiling;
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->name, "memory copy");
  EXPECT_LE(after->seconds, before->seconds);
  const auto larger = measured.measure(ring(300'000), Memory::host, Memory::host, {}).ceiling;
  ASSERT_TRUE(larger);
  EXPECT_NE(larger->rate, after->rate) << "measured by itself";
}

TEST_F(NodeCeiling, OfAMessageThatNoRankSendsIsNone) {
  auto measured = ceilings(world().size(), "Ethernet");
  CopyCeiling nobody = ring(8);
  nobody.takes_part = false;
  const auto [ceiling, reason] = measured.measure(nobody, Memory::host, Memory::host, {});
  EXPECT_FALSE(ceiling);
  EXPECT_EQ(reason, "nothing is sent");
}

TEST_F(NodeCeiling, OfProductsIsOfTheirOperationsAndStridesToo) {
  auto measured = ceilings(world().size(), "Ethernet");
  const auto blas = device->blas(Memory::host, 1);
  constexpr std::size_t n = 32;
  const auto matrices = device->allocate(Memory::host, 3 * 2 * n * n * sizeof(double));
  device->stream(Memory::host)->fill(matrices.data(), 0, matrices.bytes());
  auto* const a = matrices.as<double>();
  const device::Gemm gemm{
      .m = n, .n = n, .k = n, .a = a, .lda = n, .b = a + 2 * n * n, .ldb = n, .c = a + 4 * n * n, .ldc = n};
  device::Gemm transposed = gemm;
  transposed.b_operation = device::Operation::transpose;
  device::Gemm strided = gemm;
  strided.lda = 2 * n;
  const auto rate = [&](const device::Gemm& product) {
    return measured.measure({.flops = 1, .gemm = product}, *blas, Memory::host, {})->rate;
  };
  const double known = rate(gemm);
  EXPECT_EQ(rate(gemm), known);
  EXPECT_NE(rate(transposed), known);
  EXPECT_NE(rate(strided), known);
}

TEST_F(NodeCeiling, OfArithmeticIsAtLeastThatOfRegisters) {
  auto measured = ceilings(world().size(), "Ethernet");
  const auto blas = device->blas(Memory::host, 1);
  const GemmCeiling solve{.flops = 1e9, .gemm = {.type = DataType::f32}};
  const auto single = measured.measure(solve, *blas, Memory::host, {});
  ASSERT_TRUE(single);
  EXPECT_EQ(single->name, "multiply-adds");
  EXPECT_GT(single->rate, 0);
  EXPECT_NEAR(single->seconds, 1e-3 / single->rate, 1e-9 * single->seconds);
  if (world().size() > 1) return;  // of ranks that share cores each type takes seconds, until rates rise no more
  const auto doubles = measured.measure({.flops = 1e9, .gemm = {.type = DataType::f64}}, *blas, Memory::host, {});
  ASSERT_TRUE(doubles);
  EXPECT_GT(single->rate, doubles->rate);
}

NodeReport report_of(int rank) { return {.host = "node", .idle_s = rank + 0.5, .doing = {{"computing", {rank}}}}; }

/// A watch thread that answers for as long as it exists.
class Answering {
 public:
  Answering(NodePoll& poll, int rank)
      : thread_([&poll, rank](const std::stop_token& stop) {
          while (!stop.stop_requested()) poll.answer(0.02, [rank] { return report_of(rank); }, stop);
        }) {}

 private:
  std::jthread thread_;
};

Answers ask(NodePoll& poll, const std::stop_token& stop = {}) {
  return poll.ask([] { return report_of(0); }, stop);
}

/// For a second: half as long as the poll itself waits for a rank that does not answer.
Answers ask_briefly(NodePoll& poll) {
  std::stop_source enough;
  const std::jthread timer([&enough](const std::stop_token& stop) {
    for (int tick = 0; tick < 100 && !stop.stop_requested(); ++tick)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    enough.request_stop();
  });
  return ask(poll, enough.get_token());
}

TEST(NodePoll, RanksTellWhatTheyDoAndWhoIsSilentIsNamed) {
  const int rank = world().rank();
  const int last = world().size() - 1;
  NodePoll poll(world(), {rank}, true);
  std::unique_ptr<Answering> answering;
  if (rank > 0) answering = std::make_unique<Answering>(poll, rank);
  if (rank == 0) {
    const Answers all = ask(poll);
    ASSERT_EQ(all.reports.size(), static_cast<std::size_t>(last));
    for (int other = 1; other <= last; ++other) {
      const NodeReport& report = all.reports[static_cast<std::size_t>(other - 1)];
      EXPECT_EQ(report.doing, report_of(other).doing);
      EXPECT_EQ(report.idle_s, report_of(other).idle_s);
    }
    EXPECT_TRUE(all.silent.empty() && all.unreachable.empty());
  }
  world().barrier();
  if (last == 0) return;
  if (rank == last) answering.reset();
  world().barrier();
  if (rank == 0) {
    const Answers rest = ask_briefly(poll);
    EXPECT_EQ(rest.reports.size(), static_cast<std::size_t>(last - 1));
    ASSERT_EQ(rest.silent.size(), 1U);
    EXPECT_EQ(rest.silent.begin()->second, std::vector<int>{last});
  }
  world().barrier();
}

TEST(NodePoll, WhoHasNeverAnsweredIsNotCalledSilent) {
  if (world().size() == 1) return;
  NodePoll poll(world(), {world().rank()}, true);
  if (world().rank() == 0) {
    const Answers none = ask_briefly(poll);
    EXPECT_TRUE(none.reports.empty() && none.silent.empty());
    EXPECT_FALSE(none.unreachable.empty());
  }
  world().barrier();
}

TEST(NodePoll, TheFirstThatIsAliveSeesToIt) {
  if (world().size() == 1) return;
  NodePoll poll(world(), {world().rank()}, true);
  EXPECT_EQ(poll.leads(), world().rank() < 4);
  std::unique_ptr<Answering> answering;
  if (world().rank() == 0) answering = std::make_unique<Answering>(poll, 0);
  if (world().rank() == 1) {
    EXPECT_TRUE(ask_briefly(poll).has_lower);
  }
  world().barrier();
}

}  // namespace
}  // namespace commlens

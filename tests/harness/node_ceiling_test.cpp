// Ranks of one machine that take themselves for ranks of several nodes, and connect through the loopback interface.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/ceiling.hpp"
#include "transport/own_device.hpp"

namespace commlens {
namespace {

using device::Memory;
using transport::Communicator;

constexpr TcpStream::Settings loopback{.loopback = true};

class NodeCeiling : public testing::Test {
 protected:
  /// So many ranks on each node.
  Ceilings ceilings(int ranks_per_node, const std::string& link_layer, TcpStream::Settings streams = loopback) {
    for (int rank = 0; rank < world.size(); ++rank) {
      placement.push_back({rank,
                           "node" + std::to_string(rank / ranks_per_node),
                           "0",
                           "0",
                           std::nullopt,
                           {{.name = "nic", .link_layer = link_layer, .rate_Gbps = 8}}});
    }
    return {world, *device, placement, streams};
  }
  [[nodiscard]] CopyCeiling ring(std::size_t bytes) const {
    return {.bytes = bytes, .copies = 2, .peer = (world.rank() + 1) % world.size()};
  }
  void SetUp() override {
    if (world.size() < 2) GTEST_SKIP() << "one rank has no other node";
  }

  const Communicator world{MPI_COMM_WORLD};
  std::unique_ptr<device::Device> device = open_own_device(0);
  std::vector<measure::Placement> placement;
};

TEST_F(NodeCeiling, IsATcpStreamWithoutRdma) {
  auto measured = ceilings(1, "Ethernet");
  const auto [ceiling, reason] = measured.measure(ring(4096), Memory::host, Memory::host);
  ASSERT_TRUE(ceiling) << reason;
  EXPECT_EQ(ceiling->name, "TCP stream over lo");
  EXPECT_NEAR(ceiling->seconds, 2 * 4096 / (ceiling->rate * 1e9), 1e-3 * ceiling->seconds) << "of both copies";
  EXPECT_NE(ceiling->method.find("messages of 4096 bytes"), std::string::npos) << ceiling->method;
}

TEST_F(NodeCeiling, LargeMessagesShareOneMeasurement) {
  auto measured = ceilings(1, "Ethernet");
  const auto first = measured.measure(ring(1 << 20), Memory::host, Memory::host).ceiling;
  const auto second = measured.measure(ring(3 << 20), Memory::host, Memory::host).ceiling;
  ASSERT_TRUE(first && second);
  EXPECT_DOUBLE_EQ(first->rate, second->rate);
  EXPECT_NEAR(3 * first->seconds, second->seconds, 1e-6 * second->seconds);
}

TEST_F(NodeCeiling, RanksWithAPeerOnTheirNodeCopyAtTheSameTime) {
  if (world.size() < 4) GTEST_SKIP() << "needs two nodes of two ranks";
  auto measured = ceilings(2, "Ethernet");
  const auto ceiling = measured.measure(ring(100'000), Memory::host, Memory::host).ceiling;
  ASSERT_TRUE(ceiling);
  EXPECT_NE(ceiling->method.find("by 2 ranks"), std::string::npos) << ceiling->method;
  EXPECT_NE(ceiling->method.find("whose peer is on their node copy"), std::string::npos) << ceiling->method;
}

TEST_F(NodeCeiling, IsTheNominalRateWithRdma) {
  auto measured = ceilings(1, "InfiniBand");
  const auto ceiling = measured.measure(ring(1'000'000), Memory::host, Memory::host).ceiling;
  ASSERT_TRUE(ceiling);
  EXPECT_EQ(ceiling->name, "link rate");
  EXPECT_DOUBLE_EQ(ceiling->rate, 1) << "8 Gbit/s";
  EXPECT_DOUBLE_EQ(ceiling->seconds, 2e-3);
  EXPECT_EQ(ceiling->method.rfind("nominal, not measured", 0), 0U) << ceiling->method;
}

TEST_F(NodeCeiling, SaysWhyThereIsNone) {
  auto measured = ceilings(1, "Ethernet", {.loopback = true, .listens = false, .connect_s = 0.2});
  const auto [ceiling, reason] = measured.measure(ring(8), Memory::host, Memory::host);
  EXPECT_FALSE(ceiling);
  EXPECT_EQ(reason.rfind("no TCP connection from ", 0), 0U) << reason;
  EXPECT_EQ(measured.measure(ring(8), Memory::host, Memory::host).reason, reason) << "and keeps it";
  EXPECT_FALSE(measured.measure(ring(0), Memory::host, Memory::host).reason.empty());
}

}  // namespace
}  // namespace commlens

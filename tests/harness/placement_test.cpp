// Where ranks run: their cores, GPUs and network adapters.
#include "harness/placement.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transport/rank_device.hpp"

namespace commlens {
namespace {

measure::Placement place(int rank, const std::string& cores, const std::string& nodes, const std::string& uuid,
                         int gpu_node) {
  measure::Placement placement{rank, "node1", cores, nodes, std::nullopt};
  if (!uuid.empty()) placement.gpu = measure::Gpu{rank, "GPU", uuid, "0000:01:00.0", gpu_node, 1};
  return placement;
}

TEST(Placement, GpusAreTakenInTurn) {
  EXPECT_EQ(gpu_of(0, 0), -1);
  EXPECT_EQ(gpu_of(5, 4), 1);
  EXPECT_EQ(gpu_of(3, 4), 3);
}

TEST(Placement, CoreListsGoBothWays) {
  EXPECT_EQ(ranges({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(ranges({5}), "5");
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(numbers("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_TRUE(numbers("").empty());
}

TEST(CoreShare, DividesEachCoreAmongTheRanksThatMayUseIt) {
  const auto alone = place(0, "0-7", "0", "", -1);
  EXPECT_EQ(core_share({alone}, 0), 8);
  const std::vector all{place(0, "0-7", "0", "", -1), place(1, "0-7", "0", "", -1), place(2, "8", "0", "", -1)};
  EXPECT_EQ(core_share(all, 0), 4);
  EXPECT_EQ(core_share(all, 2), 1);
  EXPECT_EQ(core_share({place(0, "0", "0", "", -1), place(1, "0", "0", "", -1)}, 1), 1) << "never none";
}

TEST(CoreShare, CountsTheRanksOfItsOwnNodeOnly) {
  auto elsewhere = place(1, "0-7", "0", "", -1);
  elsewhere.host = "node2";
  EXPECT_EQ(core_share({place(0, "0-7", "0", "", -1), elsewhere}, 0), 8);
}

namespace fs = std::filesystem;
using measure::Nic;
using measure::NicDistance;

/// A /sys tree of the test's own.
class System : public testing::Test {
 protected:
  System() { fs::remove_all(root); }
  ~System() override { fs::remove_all(root); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text << '\n';
  }
  /// A PCI device, and a link to it.
  void device(const std::string& link, const std::string& path, const std::string& numa_node) const {
    write("devices/" + path + "/numa_node", numa_node);
    fs::create_directories((root / link).parent_path());
    fs::create_directory_symlink(root / "devices" / path, root / link);
  }
  void adapter(const std::string& name, const std::string& path, const std::string& numa_node,
               const std::string& layer = "InfiniBand", const std::string& state = "4: ACTIVE") const {
    const std::string entry = "class/infiniband/" + name;
    device(entry + "/device", path, numa_node);
    write(entry + "/ports/1/state", state);
    write(entry + "/ports/1/rate", "200 Gb/sec (4X HDR)");
    write(entry + "/ports/1/link_layer", layer);
  }
  void interface(const std::string& name, const std::string& speed, const std::string& type = "1",
                 const std::string& state = "up") const {
    write("class/net/" + name + "/type", type);
    write("class/net/" + name + "/operstate", state);
    write("class/net/" + name + "/speed", speed);
  }
  [[nodiscard]] std::vector<std::string> names(const std::optional<measure::Gpu>& gpu = std::nullopt,
                                               const std::string& numa_nodes = "0") const {
    std::vector<std::string> names;
    for (const Nic& nic : nearest_nics(gpu, numa_nodes, root)) names.push_back(nic.name);
    return names;
  }

  fs::path root = fs::temp_directory_path() / ("commlens-network-test-" + std::to_string(getpid()));
};

using Names = std::vector<std::string>;

TEST_F(System, ReadsTheNumaNodesOfCoresAndGpu) {
  write("devices/system/node/node0/cpulist", "4095");  // no core of ours
  write("devices/system/node/node1/cpulist", "0-1023");
  write("bus/pci/devices/0000:1b:00.0/numa_node", "1");
  device::GpuProperties gpu{.ordinal = 2, .name = "a GPU", .uuid = "GPU-1", .pci = "0000:1b:00.0", .memory_bytes = 7};
  const auto placement = placement_of(3, &gpu, root);
  EXPECT_EQ(placement.rank, 3);
  EXPECT_EQ(placement.numa_nodes, "1");
  EXPECT_FALSE(placement.cores.empty());
  ASSERT_TRUE(placement.gpu);
  EXPECT_EQ(placement.gpu->numa_node, 1);
  gpu.pci = "0000:ff:00.0";
  EXPECT_EQ(placement_of(3, &gpu, root).gpu->numa_node, -1) << "a machine that does not say";
}

TEST_F(System, ReadsAnAdapterWithItsRateLayerAndNumaNode) {
  adapter("mlx5_0", "pci0000:15/0000:15:01.0/0000:16:00.0", "1");
  const auto nics = nearest_nics(std::nullopt, "1", root);
  ASSERT_EQ(nics.size(), 1U);
  EXPECT_EQ(nics[0].name, "mlx5_0");
  EXPECT_EQ(nics[0].link_layer, "InfiniBand");
  EXPECT_DOUBLE_EQ(nics[0].rate_Gbps, 200);
  EXPECT_EQ(nics[0].numa_node, 1);
  EXPECT_EQ(nics[0].distance, NicDistance::same_numa_node);
}

TEST_F(System, TakesTheAdaptersNearestToTheCores) {
  adapter("mlx5_0", "pci0000:15/0000:15:01.0", "0");
  adapter("mlx5_1", "pci0000:85/0000:85:01.0", "1");
  EXPECT_EQ(names(std::nullopt, "0"), Names{"mlx5_0"});
  EXPECT_EQ(names(std::nullopt, "1"), Names{"mlx5_1"});
  EXPECT_EQ(names(std::nullopt, "0-1"), (Names{"mlx5_0", "mlx5_1"}));
  EXPECT_EQ(names(std::nullopt, "2"), (Names{"mlx5_0", "mlx5_1"})) << "none is near: all are equally far";
}

TEST_F(System, TakesTheAdapterBehindTheSwitchOfTheGpu) {
  adapter("mlx5_0", "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0", "0");
  adapter("mlx5_1", "pci0000:26/0000:26:01.0/0000:27:00.0/0000:28:00.0", "0");
  device("bus/pci/devices/0000:2a:00.0", "pci0000:26/0000:26:01.0/0000:27:00.0/0000:2a:00.0", "0");
  const measure::Gpu gpu{.ordinal = 0, .pci = "0000:2a:00.0", .numa_node = 0};
  const auto nics = nearest_nics(gpu, "0", root);
  ASSERT_EQ(nics.size(), 1U);
  EXPECT_EQ(nics[0].name, "mlx5_1");
  EXPECT_EQ(nics[0].distance, NicDistance::pcie_switch);
  EXPECT_EQ(names(measure::Gpu{.ordinal = 1, .pci = "0000:ff:00.0", .numa_node = 0}), (Names{"mlx5_0", "mlx5_1"}));
}

TEST_F(System, LeavesOutLinksThatAreDown) {
  adapter("mlx5_0", "pci0000:15/0000:15:01.0", "0", "InfiniBand", "1: DOWN");
  interface("eth0", "10000");
  interface("eth1", "100000", "1", "down");
  EXPECT_EQ(names(), Names{"eth0"});
}

TEST_F(System, PrefersTheNetworkThatMpiUses) {
  interface("eth0", "25000");
  interface("lo", "", "772");
  const auto ethernet = nearest_nics(std::nullopt, "0", root);
  ASSERT_EQ(ethernet.size(), 1U);
  EXPECT_EQ(ethernet[0].link_layer, "Ethernet");
  EXPECT_DOUBLE_EQ(ethernet[0].rate_Gbps, 25);
  EXPECT_EQ(ethernet[0].distance, NicDistance::unknown);
  adapter("mlx5_2", "pci0000:15/0000:15:02.0", "0", "Ethernet");
  EXPECT_EQ(nearest_nics(std::nullopt, "0", root)[0].link_layer, "RoCE");
  interface("hsn0", "200000");
  EXPECT_EQ(nearest_nics(std::nullopt, "0", root)[0].link_layer, "Slingshot");
  EXPECT_EQ(names(), Names{"hsn0"});
}

TEST_F(System, LeavesOutBridgesAndWhatHasNoHardwareBesideWhatHas) {
  interface("docker0", "10000");
  fs::create_directories(root / "class/net/docker0/bridge");
  interface("veth1", "10000");
  EXPECT_EQ(names(), Names{"veth1"});
  interface("eth0", "-1");
  device("class/net/eth0/device", "pci0000:00/0000:00:05.0", "-1");
  const auto nics = nearest_nics(std::nullopt, "0", root);
  ASSERT_EQ(nics.size(), 1U);
  EXPECT_EQ(nics[0].name, "eth0");
  EXPECT_DOUBLE_EQ(nics[0].rate_Gbps, 0) << "the driver does not say";
}

TEST_F(System, MayHaveNoNetwork) { EXPECT_TRUE(names().empty()); }

// ---- shares ----

Nic nic(const std::string& name, double rate = 100) { return {.name = name, .link_layer = "RoCE", .rate_Gbps = rate}; }

measure::Placement place(int rank, const std::string& host, std::vector<Nic> nics) {
  return {rank, host, "0", "0", std::nullopt, std::move(nics)};
}

constexpr double one_second = 12.5e9;  // bytes, at 100 Gbit/s

TEST(LinkRate, IsTheRanksOwnWhereItSharesWithNobody) {
  const std::vector all{place(0, "a", {nic("0")}), place(1, "a", {nic("1")}), place(2, "b", {nic("0")}),
                        place(3, "b", {nic("1")})};
  EXPECT_DOUBLE_EQ(seconds_at_link_rate(all, {2, 3, -1, -1}, one_second).value(), 1);
  EXPECT_DOUBLE_EQ(seconds_at_link_rate(all, {2, 3, 0, 1}, one_second).value(), 1) << "both ways at the same time";
  EXPECT_DOUBLE_EQ(seconds_at_link_rate(all, {-1, -1, -1, -1}, one_second).value(), 0);
}

TEST(LinkRate, IsDividedAmongThoseThatSend) {
  const std::vector all{place(0, "a", {nic("0")}), place(1, "a", {nic("0")}), place(2, "b", {nic("0")}),
                        place(3, "b", {nic("0")})};
  EXPECT_DOUBLE_EQ(seconds_at_link_rate(all, {2, -1, -1, -1}, one_second).value(), 1);
  EXPECT_DOUBLE_EQ(seconds_at_link_rate(all, {2, 3, -1, -1}, one_second).value(), 2);
  EXPECT_DOUBLE_EQ(seconds_at_link_rate(all, {2, 2, -1, -1}, one_second).value(), 2) << "both to one rank";
}

TEST(LinkRate, AddsUpTheAdaptersOfARankAndCountsTheSlowerEnd) {
  const std::vector all{place(0, "a", {nic("0"), nic("1")}), place(1, "b", {nic("0", 50)})};
  EXPECT_DOUBLE_EQ(seconds_at_link_rate(all, {1, -1}, one_second).value(), 2);
  EXPECT_DOUBLE_EQ(seconds_at_link_rate({all[0], place(1, "b", all[0].nics)}, {1, -1}, one_second).value(), 0.5);
  EXPECT_FALSE(seconds_at_link_rate({all[0], place(1, "b", {nic("0", 0)})}, {1, -1}, one_second)) << "unknown";
}

TEST(LinkRate, IsThatOfRdmaAlone) {
  EXPECT_TRUE(has_rdma(place(0, "a", {nic("0")})));
  EXPECT_FALSE(has_rdma(place(0, "a", {{.name = "eth0", .link_layer = "Ethernet", .rate_Gbps = 10}})));
  EXPECT_FALSE(has_rdma(place(0, "a", {})));
}

}  // namespace
}  // namespace commlens

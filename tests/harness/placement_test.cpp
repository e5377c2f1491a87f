#include "harness/placement.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "transport/own_device.hpp"

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

TEST(Placement, ReadsTheNumaNodesOfCoresAndGpu) {
  const auto system = std::filesystem::temp_directory_path() / ("commlens-placement-test-" + std::to_string(getpid()));
  std::filesystem::remove_all(system);
  const auto write = [&](const std::string& file, const std::string& text) {
    std::filesystem::create_directories((system / file).parent_path());
    std::ofstream(system / file) << text << '\n';
  };
  write("devices/system/node/node0/cpulist", "4095");  // no core of ours
  write("devices/system/node/node1/cpulist", "0-1023");
  write("bus/pci/devices/0000:1b:00.0/numa_node", "1");
  device::GpuProperties gpu{.ordinal = 2, .name = "a GPU", .uuid = "GPU-1", .pci = "0000:1b:00.0", .memory_bytes = 7};
  const auto placement = placement_of(3, &gpu, system);
  EXPECT_EQ(placement.rank, 3);
  EXPECT_EQ(placement.numa_nodes, "1");
  EXPECT_FALSE(placement.cores.empty());
  ASSERT_TRUE(placement.gpu);
  EXPECT_EQ(placement.gpu->numa_node, 1);
  gpu.pci = "0000:ff:00.0";
  EXPECT_EQ(placement_of(3, &gpu, system).gpu->numa_node, -1) << "a machine that does not say";
  std::filesystem::remove_all(system);
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

}  // namespace
}  // namespace commlens

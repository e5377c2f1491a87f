// Which rank runs where: its cores, their NUMA node, its GPU, the GPU's NUMA node and the
// nearest network adapters; and what is wrong with that.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "measure/record.hpp"
#include "transport/communicator.hpp"

namespace commlens {

/// "0-3,8" for {0, 1, 2, 3, 8}.
std::string ranges(const std::vector<int>& numbers);
/// The reverse. Throws std::invalid_argument.
std::vector<int> numbers(const std::string& ranges);

/// Of this node.
std::string host_name();

/// The first of the file; empty where there is none.
std::string read_line(const std::filesystem::path& file);

/// Of this rank. `system` is the root of /sys, so that tests can bring one of their own.
measure::Placement placement_of(int rank, const device::GpuProperties* gpu,
                                const std::filesystem::path& system = "/sys");

/// Every rank's, on every rank, in order. Collective.
std::vector<measure::Placement> gather_placement(const transport::Communicator& communicator,
                                                 const measure::Placement& mine);

/// How many cores are this rank's where each is divided among the ranks that may run on it; at least 1.
int core_share(const std::vector<measure::Placement>& placement, int rank);

/// Of this node's adapters with an active link those that are nearest to the GPU; without one, to the cores of
/// `numa_nodes`. Adapters with RDMA count alone where there are any, and InfiniBand and Slingshot before RoCE. `system`
/// is the root of /sys, so that tests can bring one of their own.
std::vector<measure::Nic> nearest_nics(const std::optional<measure::Gpu>& gpu, const std::string& numa_nodes,
                                       const std::filesystem::path& system);

/// MPI libraries use such an adapter rather than TCP.
bool has_rdma(const measure::Placement& place);

/// Seconds that the adapters need for `bytes` from each rank to its peer, all at the same time, at their nominal rates:
/// each adapter is divided among the ranks of its node that send through it, and among those that receive. `peers` are
/// by rank, -1: the rank sends nothing to another node. Nothing where a rate is unknown.
std::optional<double> seconds_at_link_rate(const std::vector<measure::Placement>& placement,
                                           const std::vector<int>& peers, double bytes);

}  // namespace commlens

// The network adapters of a node: which are nearest to a rank, and what share of their nominal rate is the rank's.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/record.hpp"

namespace commlens {

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

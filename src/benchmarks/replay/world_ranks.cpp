#include "benchmarks/replay/world_ranks.hpp"

#include <cstddef>
#include <numeric>
#include <utility>

#include "transport/communicator.hpp"

namespace commlens::replay {
namespace {

std::vector<int> neighbors_of(MPI_Comm handle, const Shape& shape) {
  int topology = MPI_UNDEFINED;
  CALL_MPI(PMPI_Topo_test, handle, &topology);
  if (topology == MPI_CART) return neighbors_in_grid(handle);
  std::vector<int> in(static_cast<std::size_t>(shape.in_degree));
  if (topology == MPI_GRAPH) {
    CALL_MPI(PMPI_Graph_neighbors, handle, shape.rank, static_cast<int>(in.size()), in.data());
  } else if (topology == MPI_DIST_GRAPH) {
    std::vector<int> out(static_cast<std::size_t>(shape.out_degree));
    std::vector<int> in_weights(in.size());
    std::vector<int> out_weights(out.size());
    CALL_MPI(PMPI_Dist_graph_neighbors, handle, static_cast<int>(in.size()), in.data(), in_weights.data(),
             static_cast<int>(out.size()), out.data(), out_weights.data());
  }
  return in;
}

}  // namespace

WorldRanks::WorldRanks(MPI_Comm world) { CALL_MPI(PMPI_Comm_group, world, &world_); }

WorldRanks::~WorldRanks() { PMPI_Group_free(&world_); }

const std::vector<int>& WorldRanks::peers(const CommunicatorEntry& communicator, const Shape& shape) {
  constexpr std::size_t most_known = 1024;  // a program may make a communicator in each of its steps
  if (const auto known = known_.find(communicator.id); known != known_.end()) return known->second;
  if (known_.size() >= most_known) known_.clear();
  MPI_Group group = MPI_GROUP_NULL;
  if (shape.is_inter) {
    CALL_MPI(PMPI_Comm_remote_group, communicator.handle, &group);
  } else {
    CALL_MPI(PMPI_Comm_group, communicator.handle, &group);
  }
  std::vector<int> own(static_cast<std::size_t>(shape.peers));
  std::iota(own.begin(), own.end(), 0);
  std::vector<int> ranks(own.size());
  const int status = PMPI_Group_translate_ranks(group, static_cast<int>(own.size()), own.data(), world_, ranks.data());
  PMPI_Group_free(&group);
  transport::check_mpi(status, "MPI_Group_translate_ranks");
  return known_[communicator.id] = ranks;
}

int WorldRanks::peer(std::uint64_t communicator, int rank) const {
  const auto known = known_.find(communicator);
  const bool is_member = known != known_.end() && rank >= 0 && std::cmp_less(rank, known->second.size());
  return is_member ? known->second[static_cast<std::size_t>(rank)] : -1;
}

std::vector<std::int32_t> WorldRanks::sources(const CommunicatorEntry& communicator, const Shape& shape) {
  std::vector<std::int32_t> sources;
  const auto& ranks = peers(communicator, shape);
  for (const int neighbor : neighbors_of(communicator.handle, shape)) {
    if (neighbor >= 0) sources.push_back(ranks[static_cast<std::size_t>(neighbor)]);
  }
  return sources;
}

}  // namespace commlens::replay

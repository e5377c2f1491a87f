#include "benchmarks/replay/communicators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "harness/pattern.hpp"

namespace commlens::replay {
namespace {

void ask_for_degrees(MPI_Comm handle, Shape& shape) {
  int topology = MPI_UNDEFINED;
  CALL_MPI(PMPI_Topo_test, handle, &topology);
  int in = 0;
  int out = 0;
  if (topology == MPI_CART) {
    const std::vector<int> neighbors = neighbors_in_grid(handle);
    in = out = static_cast<int>(neighbors.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(neighbors.size(), 64); ++i) {
      if (neighbors[i] == MPI_PROC_NULL) shape.missing |= std::uint64_t{1} << i;
    }
  } else if (topology == MPI_GRAPH) {
    CALL_MPI(PMPI_Graph_neighbors_count, handle, shape.rank, &in);
    out = in;
  } else if (topology == MPI_DIST_GRAPH) {
    int is_weighted = 0;
    CALL_MPI(PMPI_Dist_graph_neighbors_count, handle, &in, &out, &is_weighted);
  }
  shape.in_degree = in;
  shape.out_degree = out;
}

Shape shape_of(MPI_Comm handle) {
  Shape shape;
  int size = 0;
  int is_inter = 0;
  CALL_MPI(PMPI_Comm_size, handle, &size);
  CALL_MPI(PMPI_Comm_rank, handle, &shape.rank);
  CALL_MPI(PMPI_Comm_test_inter, handle, &is_inter);
  shape.size = shape.peers = size;
  shape.is_inter = is_inter != 0;
  if (shape.is_inter) {
    CALL_MPI(PMPI_Comm_remote_size, handle, &size);
    shape.peers = size;
  } else {
    ask_for_degrees(handle, shape);
  }
  return shape;
}

/// Both groups of an intercommunicator: of the largest numbers on either side. A reduction gives each the other's.
std::uint64_t agreed(MPI_Comm inter, std::uint64_t mine) {
  std::uint64_t remote = 0;
  std::uint64_t local = 0;
  CALL_MPI(PMPI_Allreduce, &mine, &remote, 1, MPI_UINT64_T, MPI_MAX, inter);
  CALL_MPI(PMPI_Allreduce, &remote, &local, 1, MPI_UINT64_T, MPI_MAX, inter);
  return pattern::mix(local ^ remote, 1);
}

}  // namespace

std::vector<int> neighbors_in_grid(MPI_Comm handle) {
  std::vector<int> neighbors;
  int dimensions = 0;
  CALL_MPI(PMPI_Cartdim_get, handle, &dimensions);
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    int before = MPI_PROC_NULL;
    int after = MPI_PROC_NULL;
    CALL_MPI(PMPI_Cart_shift, handle, dimension, 1, &before, &after);
    neighbors.insert(neighbors.end(), {before, after});
  }
  return neighbors;
}

Communicators::Communicators(const transport::Communicator& world, std::size_t count)
    : parent_(world), entries_(std::max<std::size_t>(count, 2)) {}

Communicators::~Communicators() {
  try {
    free_all();
  } catch (const Error&) {
    return;  // the job ends by the error that came before
  }
}

void Communicators::reset() {
  free_all();
  order_ = 0;
  world_.emplace(parent_.handle());
  self_.emplace(MPI_COMM_SELF);
  entries_[0] = {.handle = world_->handle(), .id = world_id, .order = ++order_};
  entries_[1] = {.handle = self_->handle(), .id = self_id, .order = ++order_};
}

/// In the reverse order of their making, which is the same on all ranks of two communicators.
void Communicators::free_all() {
  std::vector<CommunicatorEntry*> left;
  for (std::size_t number = 2; number < entries_.size(); ++number) {
    if (entries_[number].handle != MPI_COMM_NULL) left.push_back(&entries_[number]);
  }
  std::sort(left.begin(), left.end(), [](const auto* one, const auto* other) { return one->order > other->order; });
  for (CommunicatorEntry* entry : left) CALL_MPI(PMPI_Comm_free, &entry->handle);
  std::fill(entries_.begin(), entries_.end(), CommunicatorEntry());
  made_of_groups_.clear();
  self_.reset();
  world_.reset();
}

CommunicatorEntry& Communicators::at(std::int64_t number) {
  if (handle(number) == MPI_COMM_NULL) {
    throw Error(fmt::format("the trace uses communicator {}, which it has not made", number));
  }
  return entries_[static_cast<std::size_t>(number)];
}

MPI_Comm Communicators::handle(std::int64_t number) const {
  return number < 0 ? MPI_COMM_NULL : entries_[static_cast<std::size_t>(number)].handle;
}

const Shape& Communicators::shape(CommunicatorEntry& entry) {
  if (!entry.shape) entry.shape = shape_of(entry.handle);
  return *entry.shape;
}

CommunicatorEntry& Communicators::place(std::int64_t number) {
  CommunicatorEntry& entry = entries_[static_cast<std::size_t>(number)];
  if (entry.handle != MPI_COMM_NULL) {
    throw Error(fmt::format("the trace makes communicator {}, which it has made before", number));
  }
  entry = {.order = ++order_};
  return entry;
}

void Communicators::made(const Arguments& call, CommunicatorEntry& entry, bool agree) {
  entry.id = id_of(call, entry, agree);
}

/// Ranks make communicators from one in the same order, so that counting names them. Only the members of a group know
/// of those that they make by themselves, and only one rank of a group knows the other of an intercommunicator.
std::uint64_t Communicators::id_of(const Arguments& call, const CommunicatorEntry& made, bool agree) {
  CommunicatorEntry& parent = at(call.communicator);
  const std::string_view name = call.function->name;
  if (name == "MPI_Comm_create_group") {
    const std::uint64_t count = ++made_of_groups_[{parent.id, call.number(0), call.group}];
    std::uint64_t members = 0;
    for (const int rank : call.group) members = pattern::mix(members, static_cast<std::uint64_t>(rank) + 1);
    return pattern::seed(parent.id, members + static_cast<std::uint64_t>(call.number(0)), count);
  }
  const std::uint64_t mine = pattern::seed(parent.id, ++parent.made_from);
  if (name != "MPI_Intercomm_create") return mine;
  return agree && made.handle != MPI_COMM_NULL ? agreed(made.handle, mine) : mine;
}

MPI_Group Communicators::group_of(const std::vector<int>& ranks) const {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  CALL_MPI(PMPI_Comm_group, handle(0), &all);
  const int status = PMPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &group);
  PMPI_Group_free(&all);
  transport::check_mpi(status, "MPI_Group_incl");
  return group;
}

}  // namespace commlens::replay

#include "gather_scatter/gather_scatter.hpp"

#include <algorithm>

#include "gather_scatter/methods.hpp"

namespace commlens::gather_scatter {

std::string_view name(Method method) {
  switch (method) {
    case Method::pairwise:
      return "pairwise";
    case Method::neighbor:
      return "neighbor";
    case Method::crystal_router:
      return "crystal-router";
    case Method::all_reduce:
      return "all-reduce";
    case Method::host:
      return "host";
  }
  return {};
}

namespace {

bool known(const Kind& kind) {
  const bool real = kind.type == DataType::f64 || kind.type == DataType::f32;
  return real && (kind.wire == kind.type || kind.wire == DataType::f32);
}

std::string unfit_neighbor(const Surroundings& surroundings) {
  return surroundings.transport.knows_neighbors() ? "" : "the transport has no exchange between neighbours";
}

std::string unfit_all_reduce(const Sharing& sharing, const Kind& kind, const Surroundings& surroundings) {
  if (sharing.labels_shared >= longest_all_reduce) {
    return std::to_string(sharing.labels_shared) + " ids are shared; it is tried for fewer than " +
           std::to_string(longest_all_reduce);
  }
  return surroundings.transport.sums(kind.wire) ? "" : "the transport does not reduce " + std::string(name(kind.wire));
}

std::string unfit_host(const Surroundings& surroundings) {
  if (!device::on_gpu(surroundings.memory)) return "the data lies on the host";
  return surroundings.transport.takes_host_memory() ? "" : "the transport does not take the host's memory";
}

}  // namespace

std::string unfit(Method method, const Sharing& sharing, const Kind& kind, const Surroundings& surroundings) {
  if (!known(kind)) return "data of " + std::string(name(kind.type)) + " sent as " + std::string(name(kind.wire));
  switch (method) {
    case Method::neighbor:
      return unfit_neighbor(surroundings);
    case Method::all_reduce:
      return unfit_all_reduce(sharing, kind, surroundings);
    case Method::host:
      return unfit_host(surroundings);
    case Method::pairwise:
    case Method::crystal_router:
      return {};
  }
  return {};
}

std::unique_ptr<GatherScatter> make(Method method, std::shared_ptr<const Lists> lists, const Kind& kind,
                                    const Surroundings& surroundings) {
  const std::string reason = unfit(method, lists->sharing(), kind, surroundings);
  if (!reason.empty()) throw Error("gather-scatter, " + std::string(name(method)) + ": " + reason);
  switch (method) {
    case Method::pairwise:
    case Method::neighbor:
      return make_pairwise(method, std::move(lists), kind, surroundings);
    case Method::crystal_router:
      return make_crystal_router(std::move(lists), kind, surroundings);
    case Method::all_reduce:
      return make_all_reduce(std::move(lists), kind, surroundings);
    case Method::host:
      return make_on_host(std::move(lists), kind, surroundings);
  }
  return nullptr;
}

namespace {

/// Bounds of what one rank may have.
struct Most {
  Most(const Counts& counts, const Kind& kind)
      : groups(std::min(counts.shared_nodes, counts.sent)),
        wire(static_cast<double>(kind.fields * size_of(kind.wire))),
        pairwise(2 * static_cast<double>(counts.sent) * wire),
        crystal_router(crystal_router_bytes(groups, counts.ranks, kind)),
        all_reduce(static_cast<double>(longest_all_reduce) * wire) {}

  std::size_t groups;
  double wire;
  double pairwise;
  double crystal_router;
  double all_reduce;
};

/// A local group has two nodes at least. A shared group is in four lists: nodes, contributions (and its own), labels.
double list_bytes(const Counts& counts, std::size_t groups) {
  const std::size_t local_groups = (counts.grouped_nodes - counts.shared_nodes) / 2;
  const std::size_t entries = counts.grouped_nodes + local_groups + 4 * groups + counts.sent + 3;
  return static_cast<double>(entries * sizeof(std::uint32_t));
}

}  // namespace

Bytes bytes(const Counts& counts, const Kind& kind, bool on_gpu) {
  const Most most(counts, kind);
  const double methods = 2 * most.pairwise + most.crystal_router + most.all_reduce;
  Bytes bytes{.buffers = list_bytes(counts, most.groups) + methods};
  if (!on_gpu) return bytes;
  const double values = static_cast<double>(most.groups) * most.wire;
  const Counts of_values{.grouped_nodes = most.groups, .shared_nodes = most.groups, .sent = counts.sent};
  bytes.buffers += values;
  bytes.staging =
      values + list_bytes(of_values, most.groups) + std::max({most.pairwise, most.crystal_router, most.all_reduce});
  return bytes;
}

}  // namespace commlens::gather_scatter

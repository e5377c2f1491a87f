#include "gather_scatter/gather_scatter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "gather_scatter/methods.hpp"

namespace commlens::gather_scatter {

namespace {

bool supported(const ValueKind& kind) {
  const bool real = kind.type == DataType::f64 || kind.type == DataType::f32;
  return real && (kind.exchange_type == kind.type || kind.exchange_type == DataType::f32);
}

std::string all_reduce_unsupported(const Sharing& sharing, const ValueKind& kind, const Context& context) {
  if (sharing.shared_ids >= longest_all_reduce) {
    return std::to_string(sharing.shared_ids) + " ids are shared; it is tried for fewer than " +
           std::to_string(longest_all_reduce);
  }
  const DataType type = kind.exchange_type;
  return context.transport.sums(type) ? "" : "the transport does not reduce " + std::string(name(type));
}

}  // namespace

std::string unsupported(Method method, const Sharing& sharing, const ValueKind& kind, const Context& context) {
  if (!supported(kind)) {
    return "data of " + std::string(name(kind.type)) + " sent as " + std::string(name(kind.exchange_type));
  }
  if (method == Method::all_reduce) return all_reduce_unsupported(sharing, kind, context);
  if (method == Method::neighbor && !context.transport.has_neighbor_exchange()) {
    return "the transport has no exchange between neighbors";
  }
  if (method != Method::host) return {};
  if (!device::on_gpu(context.memory)) return "the data lies on the host";
  return context.transport.takes_host_memory() ? "" : "the transport does not take other memory of the host";
}

std::unique_ptr<GatherScatter> make(Method method, std::shared_ptr<const Lists> lists, const ValueKind& kind,
                                    const Context& context) {
  const std::string reason = unsupported(method, lists->sharing(), kind, context);
  if (!reason.empty()) throw Error("gather-scatter, " + std::string(name(method)) + ": " + reason);
  if (method == Method::crystal_router) return make_crystal_router(std::move(lists), kind, context);
  if (method == Method::all_reduce) return make_all_reduce(std::move(lists), kind, context);
  if (method == Method::host) return make_on_host(std::move(lists), kind, context);
  return make_pairwise(method, std::move(lists), kind, context);
}

/// A rank has at most as many shared groups as it sends values. List entries are 4 bytes: one per node, one per group
/// of at least two nodes, and five per value sent. In the crystal router a rank passes on values of other ranks. In
/// simulations of meshes on up to 1,728 ranks and of random ids on up to 200, its buffers held fewer than 3 +
/// log2(ranks) / 2 values per value sent, and its lists fewer than 2 + log2(ranks) entries, but for ranks with next to
/// no nodes.
Footprint upper_bytes(const Load& load, const ValueKind& kind) {
  constexpr double fixed = 4096;
  constexpr double entry = sizeof(std::uint32_t);
  const auto value = static_cast<double>(kind.fields * size_of(kind.exchange_type));
  const double stages = std::ceil(std::log2(load.ranks));
  const double lists = entry * (1.5 * load.nodes + 5 * load.sent);
  const double pairwise = 2 * value * load.sent;
  const double crystal_router = (value * (3 + stages / 2) + entry * (2 + stages)) * load.sent;
  const double all_reduce =
      value * std::min(static_cast<double>(longest_all_reduce), load.sent * load.ranks / 2);  // each id is sent twice
  const double on_host = value * load.sent;  // on both sides of the copy
  const double lists_on_host = entry * 6.5 * load.sent;
  return {.buffers = fixed + lists + 2 * pairwise + crystal_router + all_reduce + on_host,
          .staging = fixed + on_host + lists_on_host + std::max({pairwise, crystal_router, all_reduce})};
}

}  // namespace commlens::gather_scatter

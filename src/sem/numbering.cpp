#include "sem/numbering.hpp"

#include <array>
#include <string>

#include "base/error.hpp"
#include "gather_scatter/numbered_ids.hpp"

namespace commlens::sem {

namespace {

/// The first of the nodes with one id represents them.
struct Firsts {
  std::vector<std::uint32_t> of_node;  ///< the first node with the same id, or Numbering::fixed
  std::vector<std::uint32_t> copies;   ///< of each first node: how many nodes have its id
};

Firsts find_firsts(std::span<const std::int64_t> ids, std::span<const unsigned char> fixed) {
  std::vector<gather_scatter::NumberedId> nodes;
  nodes.reserve(ids.size());
  for (std::size_t node = 0; node < ids.size(); ++node) {
    if (fixed[node] == 0) nodes.push_back({ids[node], static_cast<std::uint32_t>(node)});
  }
  gather_scatter::sort_by_id(nodes);
  Firsts firsts{.of_node = std::vector<std::uint32_t>(ids.size(), Numbering::fixed),
                .copies = std::vector<std::uint32_t>(ids.size(), 0)};
  gather_scatter::for_each_id(nodes, [&](auto first, auto last) {
    firsts.copies[first->number] = static_cast<std::uint32_t>(last - first);
    for (auto node = first; node != last; ++node) firsts.of_node[node->number] = first->number;
  });
  return firsts;
}

/// For each unknown: whether a lower rank has it, too.
std::vector<bool> on_lower_ranks(const gather_scatter::Sharing& sharing, std::size_t unknowns, int rank) {
  std::vector<bool> below(unknowns, false);
  for (const auto& peer : sharing.peers) {
    if (peer.rank > rank) continue;
    for (const std::uint32_t group : peer.groups) below[sharing.shared.nodes[sharing.shared.first[group]]] = true;
  }
  return below;
}

}  // namespace

Numbering number(std::span<const std::int64_t> ids, std::span<const unsigned char> fixed,
                 const transport::Communicator& communicator) {
  if (ids.size() > Numbering::most_unknowns) {
    throw Error("a rank has " + std::to_string(ids.size()) + " nodes, of which at most " +
                std::to_string(Numbering::most_unknowns) + " can be numbered");
  }
  Firsts firsts = find_firsts(ids, fixed);

  std::vector<std::int64_t> unknown_ids;
  std::vector<bool> several;                        // of each unknown in the order of nodes: whether several have it
  std::vector<std::uint32_t> in_order(ids.size());  // of each first node: its unknown in the order of nodes
  for (std::size_t node = 0; node < ids.size(); ++node) {
    if (firsts.of_node[node] != node) continue;
    in_order[node] = static_cast<std::uint32_t>(unknown_ids.size());
    unknown_ids.push_back(ids[node]);
    several.push_back(firsts.copies[node] > 1);
  }

  Numbering numbering;
  numbering.unknowns = unknown_ids.size();
  numbering.sharing = gather_scatter::discover(unknown_ids, communicator);
  const auto below = on_lower_ranks(numbering.sharing, numbering.unknowns, communicator.rank());
  const auto kind_of = [&](std::size_t i) { return below[i] ? 2U : several[i] ? 1U : 0U; };
  std::array<std::uint32_t, 3> of_kind{};
  for (std::size_t i = 0; i < numbering.unknowns; ++i) ++of_kind.at(kind_of(i));
  numbering.alone = of_kind[0];
  numbering.owned = of_kind[0] + of_kind[1];

  std::array<std::uint32_t, 3> next{0, of_kind[0], of_kind[0] + of_kind[1]};
  std::vector<std::uint32_t> place(numbering.unknowns);
  for (std::size_t i = 0; i < place.size(); ++i) place[i] = next.at(kind_of(i))++;
  for (std::uint32_t& node : numbering.sharing.shared.nodes) node = place[node];

  numbering.of_node.resize(ids.size());
  for (std::size_t node = 0; node < ids.size(); ++node) {
    const std::uint32_t first = firsts.of_node[node];
    numbering.of_node[node] = first == Numbering::fixed
                                  ? Numbering::fixed
                                  : place[in_order[first]] | (firsts.copies[first] > 1 ? Numbering::by_several : 0U);
  }
  return numbering;
}

}  // namespace commlens::sem

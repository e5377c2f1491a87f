#include "benchmarks/pairing.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace commlens {

namespace {

using Ranks = std::vector<int>;

/// In the order of their first ranks.
std::vector<Ranks> ranks_by_node(const std::vector<std::string>& hosts) {
  std::vector<std::string> names;
  std::vector<Ranks> nodes;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto host = std::find(names.begin(), names.end(), hosts[rank]);
    const auto node = static_cast<std::size_t>(host - names.begin());
    if (host == names.end()) {
      names.push_back(hosts[rank]);
      nodes.emplace_back();
    }
    nodes[node].push_back(static_cast<int>(rank));
  }
  return nodes;
}

/// What has its ranks paired, one by one.
using Sides = std::vector<std::pair<Ranks, Ranks>>;

Sides halves(const std::vector<Ranks>& nodes) {
  Sides sides;
  for (const Ranks& ranks : nodes) {
    const auto middle = ranks.begin() + static_cast<std::ptrdiff_t>(ranks.size() / 2);
    sides.emplace_back(Ranks(ranks.begin(), middle), Ranks(middle, ranks.end()));
  }
  return sides;
}

Sides neighbors(const std::vector<Ranks>& nodes) {
  Sides sides;
  for (std::size_t node = 0; node + 1 < nodes.size(); node += 2) sides.emplace_back(nodes[node], nodes[node + 1]);
  return sides;
}

}  // namespace

std::vector<RankPair> pairs_across(const std::vector<std::string>& hosts, PairsAcross across) {
  const auto nodes = ranks_by_node(hosts);
  const Sides sides = across == PairsAcross::node ? halves(nodes) : neighbors(nodes);
  std::vector<RankPair> pairs;
  bool more = true;
  for (std::size_t i = 0; more; ++i) {
    more = false;
    for (const auto& [first, second] : sides) {
      if (i >= std::min(first.size(), second.size())) continue;
      pairs.push_back({first[i], second[i]});
      more = true;
    }
  }
  return pairs;
}

}  // namespace commlens

// Which ranks make a pair.
#pragma once

#include <string>
#include <vector>

#include "base/enum_names.hpp"

namespace commlens {

enum class PairsAcross { node, nodes };
ENUM_NAMES(PairsAcross, {node, "node"}, {nodes, "nodes"});

struct RankPair {
  int first = 0;
  int second = 0;
};

/// Within nodes: rank i of the first half of a node with rank i of its second half. Across nodes: rank i of a node with
/// rank i of the next one, two nodes at a time. A rank is in one pair at most; the pairs of all nodes with i = 0 come
/// first. `hosts` are by rank.
std::vector<RankPair> pairs_across(const std::vector<std::string>& hosts, PairsAcross across);

}  // namespace commlens

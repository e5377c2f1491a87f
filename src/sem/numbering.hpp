// A number for each unknown of a rank, from the global ids of its nodes, for vectors that hold every unknown once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gather_scatter/sharing.hpp"
#include "transport/communicator.hpp"

namespace commlens::sem {

struct Numbering {
  static constexpr std::uint32_t fixed = 0xFFFFFFFF;       ///< a node on the boundary, which has no unknown
  static constexpr std::uint32_t by_several = 0x80000000;  ///< a flag: several nodes of the rank have the unknown
  static constexpr std::uint32_t most_unknowns = 0x7FFFFFFF;

  std::vector<std::uint32_t> of_node;  ///< of each node: its unknown, perhaps with by_several; or `fixed`
  std::size_t unknowns = 0;            ///< of this rank, including those that other ranks have, too
  std::size_t owned = 0;  ///< unknowns 0 … owned - 1 belong to this rank: each belongs to the lowest rank that has it
  std::size_t alone = 0;  ///< of unknowns 0 … alone - 1, which are owned, there is one node on this rank
  gather_scatter::Sharing sharing;  ///< of unknowns, not of nodes

  /// Calls visit(node, unknown), without the flag, for every node that has an unknown.
  template <class Visit>
  void for_each_unknown(Visit visit) const {
    for (std::size_t node = 0; node < of_node.size(); ++node) {
      if (of_node[node] != fixed) visit(node, of_node[node] & ~by_several);
    }
  }
};

/// Collective. Unknowns are numbered in the order of the nodes, so that those of one element are adjacent; but first
/// those of one node, then the others that are owned, then those of lower ranks, so that each kind is a contiguous
/// range. `fixed` is not 0 for nodes without an unknown. Throws Error for more than most_unknowns nodes.
Numbering number(std::span<const std::int64_t> ids, std::span<const unsigned char> fixed,
                 const transport::Communicator& communicator);

}  // namespace commlens::sem

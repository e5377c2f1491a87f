// A number for each unknown of a rank, from the global ids of its nodes: vectors then hold every unknown once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gather_scatter/sharing.hpp"
#include "transport/communicator.hpp"

namespace commlens::sem {

struct Numbering {
  static constexpr std::uint32_t fixed = 0xFFFFFFFF;       ///< a node of no unknown
  static constexpr std::uint32_t by_several = 0x80000000;  ///< set where several elements, or nodes, have the unknown
  static constexpr std::uint32_t most_unknowns = 0x7FFFFFFF;

  std::vector<std::uint32_t> of_node;  ///< by node: its unknown, perhaps with by_several, or `fixed`
  std::size_t unknowns = 0;            ///< of this rank, with those that others have too
  std::size_t owned = 0;  ///< the first so many count here: each unknown is one rank's, the lowest that has it
  gather_scatter::Sharing sharing;  ///< of unknowns, not of nodes
};

/// Collective. Unknowns are numbered as the nodes come, so that those of one element lie together. `fixed` says of each
/// node whether it is none. Throws Error beyond most_unknowns.
Numbering number(std::span<const std::int64_t> ids, std::span<const unsigned char> fixed,
                 const transport::Communicator& communicator);

}  // namespace commlens::sem

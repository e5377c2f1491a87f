// The elements of a rank, each extended by the first interior nodes of its face neighbors, of which other ranks may
// have some.
//
// A vector that is read so has room for ghosts behind its unknowns: copies of other ranks' values, one for each global
// id. They are fetched by a gather-scatter in which the ghosts are 0 and each id's owner has the value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gather_scatter/sharing.hpp"
#include "sem/function_space.hpp"

namespace commlens::solvers {

struct Extension {
  /// By element and face (at the lower end in x, at the upper end, and then those in y and in z): for each node of the
  /// face the place of its neighbor's first interior node in a vector with ghosts; Numbering::fixed where there is
  /// none. The face's nodes are in the order of the element's.
  std::vector<std::uint32_t> neighbors;
  std::size_t ghosts = 0;
  gather_scatter::Sharing sharing;  ///< of a vector with ghosts
};

/// Collective.
Extension extend(const sem::FunctionSpace& space, const transport::Communicator& communicator);

}  // namespace commlens::solvers

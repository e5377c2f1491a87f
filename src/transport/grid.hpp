// Ranks in a Cartesian grid, and who is next to whom.
#pragma once

#include <cstddef>
#include <vector>

namespace commlens::transport {

/// As MPI_Cart_create arranges ranks: consecutive ones differ in the last dimension.
struct Grid {
  std::vector<int> extents;  ///< ranks in each dimension
  bool periodic = false;     ///< in all dimensions

  static constexpr int no_rank = -1;

  /// On which a rank may have a neighbor.
  [[nodiscard]] std::size_t sides() const { return 2 * extents.size(); }
  /// In the order of MPI's neighborhood collectives: in each dimension the rank before, then the one after. no_rank
  /// beyond an end.
  [[nodiscard]] std::vector<int> neighbors(int of) const;
  /// In some dimension both neighbors are the same rank.
  [[nodiscard]] bool repeats_neighbors() const;
};

/// As MPI_Dims_create: as equal as possible, the largest first. The same with every library.
std::vector<int> balanced_extents(int ranks, std::size_t dimensions);

}  // namespace commlens::transport

// The ranks as a grid of p x q, of which the lines transpose among themselves.
#pragma once

#include <vector>

#include "transport/communicator.hpp"

namespace commlens::fft {

/// Ranks that differ in one coordinate of the process grid alone.
struct Line {
  transport::Communicator communicator;  ///< of them alone, by that coordinate
  std::vector<int> members;              ///< their ranks in the process grid, by that coordinate: asked for as CP2K did
  int position = 0;                      ///< this rank's coordinate
};

/// A Cartesian communicator of `parent`'s ranks in their order: rank i q + j has the coordinates (i, j).
class ProcessGrid {
 public:
  /// Collective. p q must be the number of ranks.
  ProcessGrid(const transport::Communicator& parent, int p, int q);

  /// The line of this rank along an axis (0 or 1), asked of MPI from scratch: Cart_get, Comm_size, Cart_rank, Cart_sub,
  /// and one Cart_rank for each member. It is what CP2K did at every transpose before 2008. Collective over all ranks.
  [[nodiscard]] Line line(int axis) const;

 private:
  transport::Communicator communicator_;
};

}  // namespace commlens::fft

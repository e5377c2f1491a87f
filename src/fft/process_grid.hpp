// The ranks as a grid of p x q. Transposes are within its lines.
#pragma once

#include <vector>

#include "transport/communicator.hpp"

namespace commlens::fft {

/// The ranks that differ in one coordinate of the process grid only.
struct Line {
  transport::Communicator communicator;  ///< of these ranks, in the order of that coordinate
  std::vector<int> members;              ///< their ranks in the process grid, in that order
  int position = 0;                      ///< this rank's coordinate
};

/// A Cartesian communicator of the ranks of `parent`, in the same order: rank i q + j has coordinates (i, j).
class ProcessGrid {
 public:
  /// Collective. p q must be the number of ranks.
  ProcessGrid(const transport::Communicator& parent, int p, int q);

  /// The line of this rank along an axis (0 or 1), made with the calls that CP2K made in every transpose before 2008:
  /// MPI_Cart_get, MPI_Comm_size, MPI_Cart_rank, MPI_Cart_sub, and one MPI_Cart_rank per member. Collective over all
  /// ranks.
  [[nodiscard]] Line line(int axis) const;

 private:
  transport::Communicator communicator_;
};

}  // namespace commlens::fft

// The ranks as a grid of p x q, within whose lines transposes are, and the points of an axis split over ranks.
#pragma once

#include <cstddef>
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

/// Points begin … begin + count - 1 of an axis.
struct Range {
  std::size_t begin = 0;
  std::size_t count = 0;

  [[nodiscard]] std::size_t end() const { return begin + count; }
};

/// As evenly as possible, as in CP2K: rank r of n has points round(r m / n) … round((r + 1) m / n) - 1 of m. With more
/// ranks than points some have none.
inline Range even_split(std::size_t points, int rank, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  const auto bound = [&](std::size_t r) { return (2 * r * points + n) / (2 * n); };  // halves are rounded up
  const auto r = static_cast<std::size_t>(rank);
  return {.begin = bound(r), .count = bound(r + 1) - bound(r)};
}

}  // namespace commlens::fft

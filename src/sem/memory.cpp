#include "sem/memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sem/trilinear.hpp"

namespace commlens::sem {

/// The lattice points around a rank's block, on the sides where there are other ranks. Blocks of a bisection may meet
/// several others on a side: their corners there are sent more than once.
double values_sent(const Partition& partition, int order) {
  double largest = 0;
  for (int rank = 0; rank < partition.ranks(); ++rank) {
    double block = 1;
    double with_neighbors = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto [begin, end] = partition.block(rank).at(axis);
      const auto points = static_cast<double>((end - begin) * static_cast<std::size_t>(order) + 1);
      const double sides = (begin > 0 ? 1 : 0) + (end < partition.elements().at(axis) ? 1 : 0);
      block *= points;
      with_neighbors *= points + sides;
    }
    largest = std::max(largest, with_neighbors - block);
  }
  return 1.5 * largest;
}

double upper_bytes(const Load& load, Geometry geometry, Storage storage) {
  constexpr double rounding = 128.0 * 1024;  // scratch memory of sums, and what is rounded up
  const double unknown = storage == Storage::unique ? sizeof(std::uint32_t) : 0;
  const double factors = geometry == Geometry::stored ? 6 * sizeof(double) : 0;
  return rounding + sizeof(Trilinear) * load.elements + (unknown + factors) * load.nodes;
}

}  // namespace commlens::sem

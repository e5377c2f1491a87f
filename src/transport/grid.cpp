#include "transport/grid.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace commlens::transport {

std::vector<int> Grid::neighbors(int of) const {
  std::vector<int> neighbors(sides());
  int stride = 1;
  for (std::size_t dimension = extents.size(); dimension-- > 0; stride *= extents[dimension]) {
    const int extent = extents[dimension];
    const int place = of / stride % extent;
    const auto rank_at = [&](int other) {
      if (!periodic && (other < 0 || other == extent)) return no_rank;
      return of + ((other + extent) % extent - place) * stride;
    };
    neighbors[2 * dimension] = rank_at(place - 1);
    neighbors[2 * dimension + 1] = rank_at(place + 1);
  }
  return neighbors;
}

bool Grid::repeats_neighbors() const {
  return periodic && std::any_of(extents.begin(), extents.end(), [](int extent) { return extent <= 2; });
}

std::vector<int> balanced_extents(int ranks, std::size_t dimensions) {
  std::vector<int> extents;
  for (; dimensions > 0; --dimensions) {
    int extent = 1;  // the largest that leaves as many to each of the other dimensions
    for (int larger = 2; std::pow(larger, dimensions) < ranks + 0.5; ++larger) {
      if (ranks % larger == 0) extent = larger;
    }
    extents.push_back(extent);
    ranks /= extent;
  }
  std::sort(extents.begin(), extents.end(), std::greater<>());
  return extents;
}

}  // namespace commlens::transport

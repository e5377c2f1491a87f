#include "fft/rays.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

namespace commlens::fft {

namespace {

/// (2 g/n)^2: the squared distance from the center, in units of the largest frequency.
double squared(std::ptrdiff_t frequency, std::size_t points) {
  const double ratio = 2 * static_cast<double>(frequency) / static_cast<double>(points);
  return ratio * ratio;
}

/// The largest frequency in x inside the sphere, of a ray at this squared distance from its axis; nothing outside.
std::optional<std::size_t> limit_of(double distance, std::size_t points) {
  if (distance >= 1) return std::nullopt;
  const auto inside = [&](std::size_t limit) {
    return 2 * limit < points && squared(static_cast<std::ptrdiff_t>(limit), points) + distance < 1;
  };
  auto limit = static_cast<std::size_t>(static_cast<double>(points) / 2 * std::sqrt(1 - distance));
  while (limit > 0 && !inside(limit)) --limit;  // the root is rounded
  while (inside(limit + 1)) ++limit;
  return limit;
}

void choose_owners(std::vector<Ray>& rays, int ranks) {
  std::vector<std::size_t> by_length(rays.size());
  std::iota(by_length.begin(), by_length.end(), std::size_t{0});
  std::stable_sort(by_length.begin(), by_length.end(),
                   [&](std::size_t a, std::size_t b) { return rays[a].limit > rays[b].limit; });
  using Load = std::pair<std::size_t, std::size_t>;  // coefficients, rank
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (int rank = 0; rank < ranks; ++rank) least.emplace(0, static_cast<std::size_t>(rank));
  for (const std::size_t index : by_length) {
    const auto [load, rank] = least.top();
    least.pop();
    rays[index].owner = rank;
    least.emplace(load + rays[index].count(), rank);
  }
}

}  // namespace

std::vector<Ray> rays_of_sphere(const Extents& grid, int ranks) {
  std::vector<Ray> rays;
  for (std::size_t z = 0; z < grid[2]; ++z) {
    const double in_z = squared(frequency(z, grid[2]), grid[2]);
    for (std::size_t y = 0; y < grid[1]; ++y) {
      const auto limit = limit_of(in_z + squared(frequency(y, grid[1]), grid[1]), grid[0]);
      if (limit) rays.push_back({.y = y, .z = z, .limit = *limit});
    }
  }
  choose_owners(rays, ranks);
  return rays;
}

}  // namespace commlens::fft

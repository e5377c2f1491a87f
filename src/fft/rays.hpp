// The coefficients of a plane-wave code, in rays: columns along x that intersect the cutoff sphere.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "device/function.hpp"

namespace commlens::fft {

using Extents = std::array<std::size_t, 3>;  ///< of a grid: points in x, y and z

/// The frequency of a coefficient: 0, 1, …, followed by the negative ones.
COMMLENS_FUNCTION inline std::ptrdiff_t frequency(std::size_t index, std::size_t points) {
  const auto i = static_cast<std::ptrdiff_t>(index);
  const auto n = static_cast<std::ptrdiff_t>(points);
  return i <= n / 2 ? i : i - n;
}

struct Ray {
  std::size_t y = 0;
  std::size_t z = 0;
  std::size_t limit = 0;  ///< its coefficients have frequencies -limit … limit in x
  std::size_t first = 0;  ///< index of its first coefficient on the rank
  std::size_t owner = 0;  ///< the rank that has it

  [[nodiscard]] COMMLENS_FUNCTION std::size_t count() const { return 2 * limit + 1; }
  /// Index of the coefficient with this frequency on the rank; only if holds(in_x).
  [[nodiscard]] COMMLENS_FUNCTION std::size_t at(std::ptrdiff_t in_x) const {
    return first + static_cast<std::size_t>(in_x >= 0 ? in_x : in_x + static_cast<std::ptrdiff_t>(count()));
  }
  [[nodiscard]] COMMLENS_FUNCTION bool holds(std::ptrdiff_t in_x) const {
    return static_cast<std::size_t>(in_x >= 0 ? in_x : -in_x) <= limit;
  }
};

/// The rays that intersect the largest sphere inside the grid, (2 gx/nx)^2 + (2 gy/ny)^2 + (2 gz/nz)^2 < 1, by z and
/// then by y. The longest are assigned first, each to the rank with the fewest coefficients, as in CP2K.
std::vector<Ray> rays_of_sphere(const Extents& grid, int ranks);

}  // namespace commlens::fft

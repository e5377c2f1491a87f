// The coefficients of a plane-wave code: by rays, the columns along x, of which only those that meet the cutoff sphere
// hold any.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "device/gpu/api.hpp"

namespace commlens::fft {

using Extents = std::array<std::size_t, 3>;  ///< of a grid: points in x, y and z

/// The frequency of a coefficient: 0, 1, … and then the negative ones.
COMMLENS_FUNCTION inline std::ptrdiff_t frequency(std::size_t index, std::size_t points) {
  const auto i = static_cast<std::ptrdiff_t>(index);
  const auto n = static_cast<std::ptrdiff_t>(points);
  return i <= n / 2 ? i : i - n;
}

struct Ray {
  std::size_t y = 0;
  std::size_t z = 0;
  std::size_t limit = 0;  ///< the coefficients are those with frequencies -limit … limit in x
  std::size_t first = 0;  ///< where they begin among those of the rank
  std::size_t owner = 0;

  [[nodiscard]] COMMLENS_FUNCTION std::size_t count() const { return 2 * limit + 1; }
  /// Where the coefficient of this frequency is; only if its magnitude is at most `limit`.
  [[nodiscard]] COMMLENS_FUNCTION std::size_t at(std::ptrdiff_t in_x) const {
    return first + static_cast<std::size_t>(in_x >= 0 ? in_x : in_x + static_cast<std::ptrdiff_t>(count()));
  }
  [[nodiscard]] COMMLENS_FUNCTION bool holds(std::ptrdiff_t in_x) const {
    return static_cast<std::size_t>(in_x >= 0 ? in_x : -in_x) <= limit;
  }
};

/// The rays that meet the largest sphere inside the grid, (2 gx/nx)^2 + (2 gy/ny)^2 + (2 gz/nz)^2 < 1, by z and then y.
/// The longest go first to whoever has the fewest coefficients, as CP2K spreads them.
std::vector<Ray> rays_of_sphere(const Extents& grid, int ranks);

}  // namespace commlens::fft

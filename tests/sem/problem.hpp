// Meshes and numbers that tests on several ranks use.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sem/mesh.hpp"
#include "world.hpp"

namespace commlens::sem {

/// Of this rank, in a partition over all ranks.
inline Mesh mesh_of(const Shape& shape) { return {shape, Partition(shape.elements, world().size()), world().rank()}; }

/// From -1 to 1, depending on the key alone: the same on every rank.
inline double random_number(std::int64_t key) {
  // splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
  std::uint64_t z = static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

inline double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// To an accuracy relative to the largest value.
inline void expect_equal(const std::vector<double>& result, const std::vector<double>& expected, double tolerance,
                         const std::string& label) {
  ASSERT_EQ(result.size(), expected.size()) << label;
  const double scale = largest_of(expected);
  for (std::size_t i = 0; i < result.size(); ++i) {
    ASSERT_NEAR(result[i], expected[i], tolerance * scale) << label << ", at " << i;
  }
}

/// The staged transport takes every memory.
inline const auto memories =
    testing::Values(Place{"staged", device::Memory::host}, Place{"staged", device::Memory::device});

}  // namespace commlens::sem

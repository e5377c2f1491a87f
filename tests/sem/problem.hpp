// Meshes and numbers that tests on several ranks use.
#pragma once

#include <cstdint>

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

/// The staged transport takes every memory.
inline const auto memories =
    testing::Values(Place{"staged", device::Memory::host}, Place{"staged", device::Memory::device});

}  // namespace commlens::sem

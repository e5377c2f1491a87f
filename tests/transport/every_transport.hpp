// Every transport in every memory that it supports here.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include "world.hpp"

namespace commlens::transport {

class EveryTransport : public InPlace {
 protected:
  static std::vector<int> sequence(std::size_t count, int first) {
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
  }

  /// Poisoned.
  [[nodiscard]] device::Buffer ints(std::size_t count) const { return uploaded(std::vector<int>(count, 0x5EED)); }
  [[nodiscard]] std::vector<int> read(const device::Buffer& buffer) const { return downloaded<int>(buffer); }
};

inline const auto places = testing::Values(
    Place{"mpi", device::Memory::host}, Place{"mpi", device::Memory::pinned}, Place{"mpi", device::Memory::device},
    Place{"mpi", device::Memory::managed}, Place{"staged", device::Memory::host},
    Place{"staged", device::Memory::pinned}, Place{"staged", device::Memory::device},
    Place{"staged", device::Memory::managed}, Place{"ccl", device::Memory::device},
    Place{"ccl", device::Memory::managed}, Place{"peer", device::Memory::host}, Place{"peer", device::Memory::device});

}  // namespace commlens::transport

// Nodes with global ids of which everything is known without asking another rank: how many nodes of all ranks have an
// id, and which of them a node is. The test data of gather-scatter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/function.hpp"
#include "sem/mesh.hpp"

namespace commlens {

/// What is known of one node: a number that stands for its global id, how many copies of the id there are, which is the
/// number of nodes of all ranks that have it, and which of them this node is.
class IdCopy {
 public:
  IdCopy() = default;
  COMMLENS_FUNCTION IdCopy(std::uint64_t id, std::uint64_t number, std::uint64_t copies)
      : packed_(id << 16 | number << 8 | copies) {}
  [[nodiscard]] COMMLENS_FUNCTION std::uint64_t id() const { return packed_ >> 16; }
  [[nodiscard]] COMMLENS_FUNCTION std::uint64_t number() const { return packed_ >> 8 & 0xFF; }
  [[nodiscard]] COMMLENS_FUNCTION std::uint64_t copies() const { return packed_ & 0xFF; }

 private:
  std::uint64_t packed_;
};

inline constexpr std::size_t most_copies_in_mesh = 8;   ///< a corner of hexahedra
inline constexpr std::size_t most_random_copies = 100;  ///< a float holds exactly what they combine to

/// Of a rank's nodes.
struct GlobalIds {
  std::vector<std::int64_t> ids;
  std::vector<IdCopy> copies;
};

/// The number of elements that have a node follows from the node's place in the box of elements.
GlobalIds ids_of(const sem::Mesh& mesh);

/// Random ids of 64 bits with 1, 2 … `most_copies` copies, scattered over all ranks; some nodes have the id 0 and take
/// no part.
GlobalIds random_ids(std::size_t nodes, std::size_t most_copies, int rank, int ranks);

}  // namespace commlens

// Which rank has which elements of a box of them.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace commlens::sem {

using Extents = std::array<std::size_t, 3>;
using Block = std::array<std::array<std::size_t, 2>, 3>;  ///< [begin, end) in x, y and z

/// The factors of `number` whose box is most cubic where each direction is divided by its factor; of equals the one
/// that divides x more than y, and y more than z.
Extents most_cubic(std::size_t number, const Extents& extents);

/// Blocks: px x py x pz equal ones, the most cubic that divide the box; where none do, recursive coordinate bisection:
/// the longest direction is cut where the numbers of elements of the halves are as the numbers of their ranks, and
/// every rank has a box still.
class Partition {
 public:
  /// Throws std::invalid_argument where there are fewer elements than ranks.
  Partition(const Extents& elements, int ranks);

  [[nodiscard]] const Extents& elements() const { return elements_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(blocks_.size()); }
  [[nodiscard]] const Block& block(int rank) const { return blocks_.at(static_cast<std::size_t>(rank)); }
  [[nodiscard]] std::size_t count(int rank) const;           ///< elements
  [[nodiscard]] std::size_t interior_count(int rank) const;  ///< elements that touch no other rank's
  /// Whether an element of the rank (global coordinates) touches another rank's, with a corner at least.
  [[nodiscard]] bool touches_others(int rank, const Extents& element) const;

  // What a gather-scatter of order `order` has to do on the rank, before anything of the mesh is made.
  [[nodiscard]] std::size_t sent(int rank, int order) const;           ///< values that go to other ranks
  [[nodiscard]] std::size_t grouped_nodes(int rank, int order) const;  ///< that are not alone with their id
  [[nodiscard]] std::size_t shared_nodes(int rank, int order) const;   ///< whose id is on another rank too

 private:
  Extents elements_;
  bool equal_ = false;  ///< blocks are px x py x pz equal ones
  std::vector<Block> blocks_;
};

}  // namespace commlens::sem

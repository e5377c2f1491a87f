// Which rank has which elements of a box of elements.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace commlens::sem {

using Extents = std::array<std::size_t, 3>;
using Block = std::array<std::array<std::size_t, 2>, 3>;  ///< [begin, end) in x, y and z

/// Factors px, py, pz of `number` for which the box `extents`, divided by them, is most cubic. Of equally cubic ones,
/// those that divide x more than y, and y more than z.
Extents most_cubic(std::size_t number, const Extents& extents);

/// One block of elements per rank: px x py x pz equal blocks, the most cubic for which the factors divide the box.
/// Where there are none, recursive coordinate bisection: the longest direction is cut so that the numbers of elements
/// on both sides are nearly in the ratio of their numbers of ranks.
class Partition {
 public:
  /// Throws std::invalid_argument where there are fewer elements than ranks.
  Partition(const Extents& elements, int ranks);

  [[nodiscard]] const Extents& elements() const { return elements_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(blocks_.size()); }
  [[nodiscard]] const Block& block(int rank) const { return blocks_.at(static_cast<std::size_t>(rank)); }
  [[nodiscard]] std::size_t count(int rank) const;  ///< elements
  /// Whether an element of the rank (by its global coordinates) has a vertex in common with another rank's.
  [[nodiscard]] bool touches_others(int rank, const Extents& element) const;

 private:
  Extents elements_;
  std::vector<Block> blocks_;
};

/// For upper estimates before a mesh is made: values that a rank sends to others in a gather-scatter; on no rank are
/// there more.
double values_sent(const Partition& partition, int order);

}  // namespace commlens::sem

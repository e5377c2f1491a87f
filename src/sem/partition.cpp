#include "sem/partition.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>

namespace commlens::sem {

namespace {

/// Of the factors that `allowed` takes, those whose blocks have the least surface; zeros where it takes none.
Extents best_factors(std::size_t number, const Extents& extents, const std::function<bool(const Extents&)>& allowed) {
  Extents best{};
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t px = number; px > 0; --px) {
    if (number % px != 0) continue;
    for (std::size_t py = number / px; py > 0; --py) {
      if (number / px % py != 0) continue;
      const Extents factors{px, py, number / px / py};
      if (!allowed(factors)) continue;
      const auto length = [&](std::size_t axis) {
        return static_cast<double>(extents.at(axis)) / static_cast<double>(factors.at(axis));
      };
      const double surface = length(0) * length(1) + length(1) * length(2) + length(2) * length(0);
      // Equals but for rounding are equals.
      if (surface > least * (1 - 1e-12)) continue;
      least = surface;
      best = factors;
    }
  }
  return best;
}

std::size_t length(const Block& block, std::size_t axis) { return block.at(axis)[1] - block.at(axis)[0]; }

std::size_t volume(const Block& block) { return length(block, 0) * length(block, 1) * length(block, 2); }

/// px x py x pz equal blocks, x fastest.
std::vector<Block> equal_blocks(const Extents& elements, const Extents& factors) {
  const auto range = [&](std::size_t axis, std::size_t place) -> std::array<std::size_t, 2> {
    const std::size_t size = elements.at(axis) / factors.at(axis);
    return {place * size, (place + 1) * size};
  };
  std::vector<Block> blocks;
  for (std::size_t z = 0; z < factors[2]; ++z) {
    for (std::size_t y = 0; y < factors[1]; ++y) {
      for (std::size_t x = 0; x < factors[0]; ++x) blocks.push_back({range(0, x), range(1, y), range(2, z)});
    }
  }
  return blocks;
}

/// Where the block is cut along `axis` for `lower` of `ranks` ranks: as near to their share as leaves each side as many
/// elements as ranks; 0 where that cannot be.
std::size_t cut(const Block& block, std::size_t axis, std::size_t lower, std::size_t ranks) {
  const std::size_t layers = length(block, axis);
  const std::size_t layer = volume(block) / layers;
  const std::size_t least = (lower + layer - 1) / layer;
  const std::size_t most = layers - std::min(layers, (ranks - lower + layer - 1) / layer);
  if (least > most) return 0;
  const double share = static_cast<double>(layers) * static_cast<double>(lower) / static_cast<double>(ranks);
  return std::clamp(static_cast<std::size_t>(std::lround(share)), least, most);
}

void bisect(const Block& block, std::size_t ranks, std::vector<Block>& blocks) {
  if (ranks == 1) {
    blocks.push_back(block);
    return;
  }
  std::array<std::size_t, 3> axes{0, 1, 2};
  std::stable_sort(axes.begin(), axes.end(),
                   [&](std::size_t a, std::size_t b) { return length(block, a) > length(block, b); });
  // The longest direction, cut in the middle of the ranks, unless that leaves one side with fewer elements than ranks;
  // one rank less on the one side and one more on the other, until a cut does not.
  for (std::size_t lower = ranks / 2; lower > 0; --lower) {
    for (const std::size_t axis : axes) {
      const std::size_t place = cut(block, axis, lower, ranks);
      if (place == 0) continue;
      Block first = block;
      Block second = block;
      first.at(axis)[1] = second.at(axis)[0] = block.at(axis)[0] + place;
      bisect(first, lower, blocks);
      bisect(second, ranks - lower, blocks);
      return;
    }
  }
  throw std::logic_error("a box of elements that cannot be cut");
}

/// A direction of a block: its elements, and on how many sides it goes on.
struct Direction {
  std::size_t elements;
  std::size_t neighbors;

  Direction(const Partition& partition, int rank, std::size_t axis)
      : elements(length(partition.block(rank), axis)),
        neighbors((partition.block(rank).at(axis)[0] > 0 ? 1 : 0) +
                  (partition.block(rank).at(axis)[1] < partition.elements().at(axis) ? 1 : 0)) {}
};

/// Nodes of the block less those that `alone` of a direction takes in all three.
template <class Alone>
std::size_t nodes_but_for(const Partition& partition, int rank, int order, Alone alone) {
  std::size_t all = 1;
  std::size_t others = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Direction direction(partition, rank, axis);
    all *= direction.elements * (static_cast<std::size_t>(order) + 1);
    others *= alone(direction);
  }
  return all - others;
}

}  // namespace

Extents most_cubic(std::size_t number, const Extents& extents) {
  return best_factors(number, extents, [](const Extents&) { return true; });
}

Partition::Partition(const Extents& elements, int ranks) : elements_(elements) {
  const Block whole{{{0, elements[0]}, {0, elements[1]}, {0, elements[2]}}};
  const auto count = static_cast<std::size_t>(ranks);
  if (ranks < 1 || volume(whole) < count) {
    throw std::invalid_argument(std::to_string(volume(whole)) + " elements are too few for " + std::to_string(ranks) +
                                " ranks");
  }
  const auto factors = best_factors(count, elements, [&](const Extents& of) {
    return elements[0] % of[0] == 0 && elements[1] % of[1] == 0 && elements[2] % of[2] == 0;
  });
  equal_ = factors[0] > 0;
  if (equal_) {
    blocks_ = equal_blocks(elements, factors);
  } else {
    bisect(whole, count, blocks_);
  }
}

std::size_t Partition::count(int rank) const { return volume(block(rank)); }

std::size_t Partition::interior_count(int rank) const {
  std::size_t product = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Direction direction(*this, rank, axis);
    product *= direction.elements - std::min(direction.elements, direction.neighbors);
  }
  return product;
}

bool Partition::touches_others(int rank, const Extents& element) const {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto [begin, end] = block(rank).at(axis);
    if (element.at(axis) == begin && begin > 0) return true;
    if (element.at(axis) + 1 == end && end < elements_.at(axis)) return true;
  }
  return false;
}

namespace {

/// The nodes of the box in which two blocks meet.
std::size_t common_nodes(const Block& one, const Block& other, std::size_t order) {
  std::size_t nodes = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t begin = std::max(one.at(axis)[0], other.at(axis)[0]);
    const std::size_t end = std::min(one.at(axis)[1], other.at(axis)[1]);
    if (begin > end) return 0;
    nodes *= (end - begin) * order + 1;
  }
  return nodes;
}

}  // namespace

/// Equal blocks meet the next ones in one layer of nodes of each direction, at edges and corners of both; others are
/// asked for one by one.
std::size_t Partition::sent(int rank, int order) const {
  const auto intervals = static_cast<std::size_t>(order);
  if (equal_) {
    std::size_t own = 1;
    std::size_t with_others = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Direction direction(*this, rank, axis);
      own *= direction.elements * intervals + 1;
      with_others *= direction.elements * intervals + 1 + direction.neighbors;
    }
    return with_others - own;
  }
  std::size_t sum = 0;
  for (const Block& other : blocks_) sum += common_nodes(block(rank), other, intervals);
  return sum - common_nodes(block(rank), block(rank), intervals);
}

std::size_t Partition::grouped_nodes(int rank, int order) const {
  return nodes_but_for(*this, rank, order, [order](const Direction& direction) {
    return direction.elements * (static_cast<std::size_t>(order) - 1) + 2 - direction.neighbors;
  });
}

std::size_t Partition::shared_nodes(int rank, int order) const {
  return nodes_but_for(*this, rank, order, [order](const Direction& direction) {
    return direction.elements * (static_cast<std::size_t>(order) + 1) - direction.neighbors;
  });
}

}  // namespace commlens::sem

#include "sem/partition.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>

namespace commlens::sem {

namespace {

/// Of the factorizations that `allowed` accepts, the one whose blocks have the least surface; zeros if there is none.
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
      // Equal but for rounding counts as equal.
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

/// Where to cut the block along `axis`, so that the lower side has the share of `lower` of `ranks` ranks, or as near to
/// it as leaves both sides at least an element per rank; 0 where there is no such cut.
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
  // The longest direction and half of the ranks are tried first. Where that leaves a side with fewer elements than
  // ranks, other directions are tried, and then one rank less on the lower side.
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
  throw std::logic_error("a block of elements that cannot be cut");
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
  if (factors[0] > 0) {
    blocks_ = equal_blocks(elements, factors);
  } else {
    bisect(whole, count, blocks_);
  }
}

std::size_t Partition::count(int rank) const { return volume(block(rank)); }

bool Partition::touches_others(int rank, const Extents& element) const {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto [begin, end] = block(rank).at(axis);
    if (element.at(axis) == begin && begin > 0) return true;
    if (element.at(axis) + 1 == end && end < elements_.at(axis)) return true;
  }
  return false;
}

/// The lattice points around a rank's block, on the sides where there are other ranks. Blocks of a bisection may meet
/// several others on a side: their corners there are sent more than once.
double values_sent(const Partition& partition, int order) {
  double largest = 0;
  for (int rank = 0; rank < partition.ranks(); ++rank) {
    double block = 1;
    double with_neighbors = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto [begin, end] = partition.block(rank).at(axis);
      const auto points = static_cast<double>((end - begin) * static_cast<std::size_t>(order) + 1);
      const double sides = (begin > 0 ? 1 : 0) + (end < partition.elements().at(axis) ? 1 : 0);
      block *= points;
      with_neighbors *= points + sides;
    }
    largest = std::max(largest, with_neighbors - block);
  }
  return 1.5 * largest;
}

}  // namespace commlens::sem

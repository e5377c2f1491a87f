#include "benchmarks/gather_scatter/global_ids.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "harness/pattern.hpp"

namespace commlens {

namespace {

/// One direction of a box of elements: whether a node is on two of them, and on which of the two.
struct Direction {
  std::size_t elements;
  std::size_t order;

  [[nodiscard]] bool shared(std::size_t element, std::size_t node) const {
    return (node == 0 && element > 0) || (node == order && element + 1 < elements);
  }
  [[nodiscard]] bool lower(std::size_t node) const { return node == order; }
};

using Directions = std::array<Direction, 3>;

/// Of the element's node `node` with the global id `id`.
IdCopy copy_in_mesh(const Directions& directions, const sem::Extents& element, std::size_t node, std::int64_t id) {
  std::size_t copies = 1;
  std::size_t number = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Direction& direction = directions[axis];
    const std::size_t place = node % (direction.order + 1);
    node /= direction.order + 1;
    if (!direction.shared(element[axis], place)) continue;
    copies *= 2;
    number = 2 * number + (direction.lower(place) ? 1 : 0);
  }
  return {static_cast<std::uint64_t>(id), number, copies};
}

/// A permutation of the numbers below `size` that looks random: a Feistel network over the next power of 4, repeated
/// for a result that is not below `size` (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
class Permutation {
 public:
  explicit Permutation(std::uint64_t size)
      : size_(size), half_bits_((static_cast<int>(std::bit_width(size)) + 1) / 2) {}

  [[nodiscard]] std::uint64_t operator()(std::uint64_t number) const {
    do number = once(number);
    while (number >= size_);
    return number;
  }

 private:
  [[nodiscard]] std::uint64_t once(std::uint64_t number) const {
    constexpr std::uint64_t rounds = 4;
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = number >> half_bits_;
    std::uint64_t right = number & mask;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      const std::uint64_t next = left ^ (pattern::mix(right, round) & mask);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t size_;
  int half_bits_;
};

/// The numbers below `size` in groups of 1, 2 … `most`, 1, 2 … : the group of one of them, and its place there. The
/// last group may be incomplete.
IdCopy copy_at(std::uint64_t number, std::uint64_t most, std::uint64_t size) {
  const std::uint64_t cycle = most * (most + 1) / 2;
  const std::uint64_t place = number % cycle;
  std::uint64_t length = 1;
  std::uint64_t first = 0;  // of the group, in the cycle
  while (first + length <= place) first += length++;
  const std::uint64_t begin = number - (place - first);
  return {number / cycle * most + length, place - first, std::min(length, size - begin)};
}

}  // namespace

GlobalIds ids_of(const sem::Mesh& mesh) {
  const auto order = static_cast<std::size_t>(mesh.shape().order);
  const auto& extents = mesh.shape().elements;
  const Directions directions{{{extents[0], order}, {extents[1], order}, {extents[2], order}}};
  GlobalIds nodes{.ids = mesh.ids(), .copies = {}};
  nodes.copies.reserve(nodes.ids.size());
  for (std::size_t element = 0; element < mesh.elements(); ++element) {
    for (std::size_t node = 0; node < mesh.nodes_per_element(); ++node) {
      const std::int64_t id = nodes.ids[nodes.copies.size()];
      nodes.copies.push_back(copy_in_mesh(directions, mesh.place(element), node, id));
    }
  }
  return nodes;
}

GlobalIds random_ids(std::size_t nodes, std::size_t most_copies, int rank, int ranks) {
  constexpr std::uint64_t left_out = 13;  // one id in so many takes no part
  const std::uint64_t all = nodes * static_cast<std::uint64_t>(ranks);
  const std::uint64_t first = nodes * static_cast<std::uint64_t>(rank);
  const Permutation permutation(all);
  GlobalIds random;
  random.ids.reserve(nodes);
  random.copies.reserve(nodes);
  for (std::uint64_t node = first; node < first + nodes; ++node) {
    const IdCopy copy = copy_at(permutation(node), most_copies, all);
    const bool takes_part = copy.id() % left_out != 0;
    random.ids.push_back(takes_part ? static_cast<std::int64_t>(pattern::mix(copy.id(), 1)) : 0);
    random.copies.push_back(takes_part ? copy : IdCopy(node, 0, 1));
  }
  return random;
}

}  // namespace commlens

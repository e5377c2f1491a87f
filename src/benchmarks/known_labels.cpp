#include "benchmarks/known_labels.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "device/launch.hpp"
#include "harness/pattern.hpp"

namespace commlens {

using gather_scatter::Combine;
using gather_scatter::Kind;

// ---- labels ----

namespace {

/// One direction of a box of elements: where a node is on two of them, and on which of the two.
struct Direction {
  std::size_t elements;
  std::size_t order;

  [[nodiscard]] bool shared(std::size_t element, std::size_t node) const {
    return (node == 0 && element > 0) || (node == order && element + 1 < elements);
  }
  [[nodiscard]] bool lower(std::size_t node) const { return node == order; }
};

/// All numbers below `size` in an order that looks random: a Feistel network over the next power of 4, in which who
/// leaves the range walks on until he is back (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
class Shuffle {
 public:
  explicit Shuffle(std::uint64_t size) : size_(size), half_bits_((static_cast<int>(std::bit_width(size)) + 1) / 2) {}

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

/// Numbers in groups of 1, 2 … `most`, 1, 2 … : the group of one of them. The last group ends with the numbers.
Copy copy_at(std::uint64_t number, std::uint64_t most, std::uint64_t size) {
  const std::uint64_t cycle = most * (most + 1) / 2;
  const std::uint64_t place = number % cycle;
  std::uint64_t length = 1;
  std::uint64_t first = 0;  // of the groups of the cycle
  while (first + length <= place) first += length++;
  const std::uint64_t begin = number - (place - first);
  return {number / cycle * most + length, place - first, std::min(length, size - begin)};
}

}  // namespace

Labels labels_of(const sem::Mesh& mesh) {
  const auto order = static_cast<std::size_t>(mesh.shape().order);
  const auto& extents = mesh.shape().elements;
  const Direction directions[3] = {{extents[0], order}, {extents[1], order}, {extents[2], order}};
  Labels labels{.ids = mesh.ids(), .copies = {}};
  labels.copies.reserve(labels.ids.size());
  for (std::size_t element = 0; element < mesh.elements(); ++element) {
    for (std::size_t node = 0; node < mesh.nodes_per_element(); ++node) {
      std::size_t copies = 1;
      std::size_t number = 0;
      std::size_t rest = node;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::size_t place = rest % (order + 1);
        rest /= order + 1;
        if (!directions[axis].shared(mesh.place(element)[axis], place)) continue;
        copies *= 2;
        number = 2 * number + (directions[axis].lower(place) ? 1 : 0);
      }
      labels.copies.emplace_back(static_cast<std::uint64_t>(labels.ids[labels.copies.size()]), number, copies);
    }
  }
  return labels;
}

Labels random_labels(std::size_t nodes, std::size_t most_copies, int rank, int ranks) {
  constexpr std::uint64_t left_out = 13;  // every so many labels
  const std::uint64_t all = nodes * static_cast<std::uint64_t>(ranks);
  const std::uint64_t first = nodes * static_cast<std::uint64_t>(rank);
  const Shuffle shuffle(all);
  Labels labels;
  labels.ids.reserve(nodes);
  labels.copies.reserve(nodes);
  for (std::uint64_t node = first; node < first + nodes; ++node) {
    const Copy copy = copy_at(shuffle(node), most_copies, all);
    const bool takes_part = copy.label() % left_out != 0;
    labels.ids.push_back(takes_part ? static_cast<std::int64_t>(pattern::mix(copy.label(), 1)) : 0);
    labels.copies.push_back(takes_part ? copy : Copy(node, 0, 1));
  }
  return labels;
}

// ---- values ----

namespace {

/// The values of a label's copies are consecutive integers, from `least` on, in an order that turns from round to
/// round; or powers of 2, all above or all below 1, one of which is the square of the others. So whichever copy is left
/// out or counted twice makes a difference, and all that is combined on the way is exact.
struct Values {
  std::int64_t least;
  std::int64_t turn;
  std::int64_t copies;
  std::int64_t sign;

  COMMLENS_FUNCTION Values(Copy copy, std::uint64_t seed) {
    constexpr std::uint64_t span = 32;
    const std::uint64_t random = pattern::mix(copy.label(), seed);
    copies = static_cast<std::int64_t>(copy.copies());
    least = static_cast<std::int64_t>(random % span) - static_cast<std::int64_t>(span / 2);
    turn = static_cast<std::int64_t>((random / span + copy.number()) % copy.copies());
    sign = random >> 63 == 0 ? 1 : -1;
  }

  [[nodiscard]] COMMLENS_FUNCTION double value(Combine combine) const {
    if (combine == Combine::multiply) return ldexp(1.0, static_cast<int>(turn == 0 ? 2 * sign : sign));
    return static_cast<double>(least + turn);
  }

  /// After so many gather-scatters: each but the first combines equals.
  [[nodiscard]] COMMLENS_FUNCTION double combined(Combine combine, std::size_t operations) const {
    switch (combine) {
      case Combine::minimum:
        return static_cast<double>(least);
      case Combine::maximum:
        return static_cast<double>(least + copies - 1);
      case Combine::multiply:
        return ldexp(1.0, static_cast<int>(grown(static_cast<double>(sign * (copies + 1)), operations)));
      case Combine::add:
        break;
    }
    const std::int64_t turns = copies * (copies - 1) / 2;
    return grown(static_cast<double>(copies * least + turns), operations);
  }

 private:
  [[nodiscard]] COMMLENS_FUNCTION double grown(double first, std::size_t operations) const {
    for (std::size_t i = 1; i < operations; ++i) first *= static_cast<double>(copies);
    return first;
  }
};

template <class T>
void write_field(device::Stream& stream, T* data, const Copy* copies, std::size_t nodes, Combine combine,
                 std::uint64_t seed) {
  device::launch(
      stream, nodes,
      COMMLENS_LAMBDA(std::size_t i) { data[i] = static_cast<T>(Values(copies[i], seed).value(combine)); });
}

template <class T>
std::size_t first_wrong(device::Stream& stream, const T* data, const Copy* copies, std::size_t nodes, Combine combine,
                        std::uint64_t seed, std::size_t operations) {
  return device::find_first(
      stream, nodes, COMMLENS_LAMBDA(std::size_t i) {
        const T found = data[i];
        return !(found == static_cast<T>(Values(copies[i], seed).combined(combine, operations)));
      });
}

template <class T>
T element(device::Stream& stream, const T* data) {
  T value{};
  stream.copy(&value, data, sizeof value);
  stream.wait();
  return value;
}

}  // namespace

KnownCombination::KnownCombination(Run& run, const std::vector<Copy>& copies, const Kind& kind)
    : run_(run), kind_(kind), copies_(run.buffer(copies.size() * sizeof(Copy))) {
  run.stream().copy(copies_.data(), copies.data(), copies_.bytes());
  run.stream().wait();
}

std::size_t KnownCombination::exact_operations(const Kind& kind, std::size_t most_copies) {
  constexpr auto unlimited = static_cast<std::size_t>(-1);
  const bool idempotent = kind.combine == Combine::minimum || kind.combine == Combine::maximum;
  if (idempotent || most_copies == 1) return unlimited;
  const bool single = kind.type == DataType::f32 || kind.wire == DataType::f32;
  const auto copies = static_cast<double>(most_copies);
  const bool sums = kind.combine == Combine::add;
  const int digits = single ? std::numeric_limits<float>::digits : std::numeric_limits<double>::digits;
  const int range = single ? std::numeric_limits<float>::max_exponent : std::numeric_limits<double>::max_exponent;
  const double most = sums ? std::ldexp(1.0, digits) : range - 2;
  double largest = sums ? copies * (16 + copies / 2) : copies + 1;
  std::size_t operations = 1;
  for (; largest * copies < most; largest *= copies) ++operations;
  return operations;
}

void KnownCombination::write(void* data, std::uint64_t round) {
  if (kind_.type == DataType::f32) {
    write_as(static_cast<float*>(data), round);
  } else {
    write_as(static_cast<double*>(data), round);
  }
}

template <class T>
void KnownCombination::write_as(T* data, std::uint64_t round) {
  const std::size_t nodes = copies_.bytes() / sizeof(Copy);
  for (std::size_t field = 0; field < kind_.fields; ++field) {
    write_field(run_.stream(), data + field * nodes, copies_.as<Copy>(), nodes, kind_.combine,
                pattern::seed(round, field));
  }
}

Verdict KnownCombination::compare(const void* data, std::uint64_t round, std::size_t operations) {
  if (kind_.type == DataType::f32) return compare_as(static_cast<const float*>(data), round, operations);
  return compare_as(static_cast<const double*>(data), round, operations);
}

template <class T>
Verdict KnownCombination::compare_as(const T* data, std::uint64_t round, std::size_t operations) {
  const std::size_t nodes = copies_.bytes() / sizeof(Copy);
  auto& stream = run_.stream();
  Verdict verdict;
  for (std::size_t field = 0; field < kind_.fields; ++field) {
    const T* values = data + field * nodes;
    const std::uint64_t seed = pattern::seed(round, field);
    const std::size_t wrong = first_wrong(stream, values, copies_.as<Copy>(), nodes, kind_.combine, seed, operations);
    verdict.elements += nodes;
    if (wrong == nodes || !verdict.error.empty()) continue;
    const Copy copy = element(stream, copies_.as<Copy>() + wrong);
    verdict.error = "node " + std::to_string(wrong) + " of field " + std::to_string(field) + ", one of " +
                    std::to_string(copy.copies()) + " with its label, is " +
                    std::to_string(element(stream, values + wrong)) + ", must be " +
                    std::to_string(Values(copy, seed).combined(kind_.combine, operations));
  }
  return verdict;
}

}  // namespace commlens

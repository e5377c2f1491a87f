#include "benchmarks/gather_scatter/validation.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "harness/pattern.hpp"

namespace commlens {

using gather_scatter::Combine;
using gather_scatter::ValueKind;

namespace {

/// The values of the copies of an id are consecutive integers, from `least` on, in an order that turns from round to
/// round; or powers of 2, all above or all below 1, one of which is the square of the others. So the result differs if
/// any copy is left out or counted twice, and all intermediate results are exact.
struct ExactValue {
  std::int64_t least;
  std::int64_t turn;
  std::int64_t copies;
  std::int64_t sign;

  COMMLENS_FUNCTION ExactValue(IdCopy copy, std::uint64_t seed) {
    constexpr std::uint64_t span = 32;
    const std::uint64_t random = pattern::mix(copy.id(), seed);
    copies = static_cast<std::int64_t>(copy.copies());
    least = static_cast<std::int64_t>(random % span) - static_cast<std::int64_t>(span / 2);
    turn = static_cast<std::int64_t>((random / span + copy.number()) % copy.copies());
    sign = random >> 63 == 0 ? 1 : -1;
  }

  [[nodiscard]] COMMLENS_FUNCTION double value(Combine combine) const {
    if (combine == Combine::multiply) return ldexp(1.0, static_cast<int>(turn == 0 ? 2 * sign : sign));
    return static_cast<double>(least + turn);
  }

  /// After so many gather-scatters: each but the first combines equal values.
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
void write_field(device::Stream& stream, T* data, const IdCopy* copies, std::size_t nodes, Combine combine,
                 std::uint64_t seed) {
  device::launch(
      stream, nodes,
      COMMLENS_LAMBDA(std::size_t i) { data[i] = static_cast<T>(ExactValue(copies[i], seed).value(combine)); });
}

template <class T>
std::size_t first_wrong(device::Stream& stream, const T* data, const IdCopy* copies, std::size_t nodes, Combine combine,
                        std::uint64_t seed, std::size_t operations) {
  return device::find_first(
      stream, nodes, COMMLENS_LAMBDA(std::size_t i) {
        const T result = data[i];
        return !(result == static_cast<T>(ExactValue(copies[i], seed).combined(combine, operations)));
      });
}

}  // namespace

ExactValues::ExactValues(Run& run, const std::vector<IdCopy>& copies, const ValueKind& kind)
    : run_(run), kind_(kind), copies_(device::upload(copies, run.context().allocate, run.stream())) {}

std::size_t ExactValues::exact_operations(const ValueKind& kind, std::size_t most_copies) {
  constexpr auto unlimited = static_cast<std::size_t>(-1);
  const bool idempotent = kind.combine == Combine::minimum || kind.combine == Combine::maximum;
  if (idempotent || most_copies == 1) return unlimited;
  const bool single = kind.type == DataType::f32 || kind.exchange_type == DataType::f32;
  const auto copies = static_cast<double>(most_copies);
  const bool sums = kind.combine == Combine::add;
  const int digits = single ? std::numeric_limits<float>::digits : std::numeric_limits<double>::digits;
  const int range = single ? std::numeric_limits<float>::max_exponent : std::numeric_limits<double>::max_exponent;
  const double most = sums ? std::ldexp(1.0, digits) : range - 2;
  double largest = sums ? copies * (16 + copies / 2) : copies + 1;
  std::size_t operations = 1;
  while (largest * copies < most) {
    largest *= copies;
    ++operations;
  }
  return operations;
}

void ExactValues::write(void* data, std::uint64_t round) {
  in_precision(kind_.type, [&](auto real) { write_as(static_cast<decltype(real)*>(data), round); });
}

template <class T>
void ExactValues::write_as(T* data, std::uint64_t round) {
  const std::size_t nodes = copies_.bytes() / sizeof(IdCopy);
  for (std::size_t field = 0; field < kind_.fields; ++field) {
    write_field(run_.stream(), data + field * nodes, copies_.as<IdCopy>(), nodes, kind_.combine,
                pattern::seed(round, field));
  }
}

Verdict ExactValues::compare(const void* data, std::uint64_t round, std::size_t operations) {
  return in_precision(
      kind_.type, [&](auto real) { return compare_as(static_cast<const decltype(real)*>(data), round, operations); });
}

template <class T>
Verdict ExactValues::compare_as(const T* data, std::uint64_t round, std::size_t operations) {
  const std::size_t nodes = copies_.bytes() / sizeof(IdCopy);
  const auto* const copies = copies_.as<IdCopy>();
  auto& stream = run_.stream();
  Verdict verdict;
  for (std::size_t field = 0; field < kind_.fields; ++field) {
    const T* const values = data + field * nodes;
    const std::uint64_t seed = pattern::seed(round, field);
    const std::size_t wrong = first_wrong(stream, values, copies, nodes, kind_.combine, seed, operations);
    verdict.elements += nodes;
    if (wrong == nodes || !verdict.error.empty()) continue;
    const IdCopy copy = device::download(copies + wrong, stream);
    verdict.error = "node " + std::to_string(wrong) + " of field " + std::to_string(field) + ", one of " +
                    std::to_string(copy.copies()) + " with its global id, is " +
                    std::to_string(device::download(values + wrong, stream)) + ", must be " +
                    std::to_string(ExactValue(copy, seed).combined(kind_.combine, operations));
  }
  return verdict;
}

}  // namespace commlens

#include "benchmarks/collectives/contents.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "benchmarks/collectives/contributions.hpp"
#include "device/launch.hpp"
#include "device/upload.hpp"
#include "harness/pattern.hpp"

namespace commlens::collectives {

using transport::Block;
using transport::Collective;

namespace {

constexpr std::size_t unlimited = static_cast<std::size_t>(-1);

std::uint64_t seed(const Collective& collective, std::size_t round, int rank) {
  return pattern::seed(static_cast<std::uint64_t>(collective.shape.count), round, static_cast<std::uint64_t>(rank));
}

std::string text(double number) {
  constexpr double most = 1e15;
  const bool is_integer = std::abs(number) < most && number == std::floor(number);
  return is_integer ? std::to_string(static_cast<std::int64_t>(number)) : std::to_string(number);
}

template <class T>
Contributions contributions(const Collective& collective, std::size_t round) {
  return {collective.reduction, exact_range<T>(), collective.shape.ranks, round};
}

template <class T>
void write_contributions(device::Stream& stream, const Collective& collective, std::size_t round, T* data,
                         std::size_t count) {
  const Contributions all = contributions<T>(collective, round);
  const int rank = collective.shape.rank;
  device::launch(stream, count, COMMLENS_LAMBDA(std::size_t i) { data[i] = static_cast<T>(all.of(i, rank)); });
}

template <class T>
void poison_combined(device::Stream& stream, const Collective& collective, std::size_t round, const Block& block) {
  const Contributions all = contributions<T>(collective, round);
  const std::size_t parts = components(collective.type);
  T* data = static_cast<T*>(collective.output) + block.output * parts;
  const std::size_t begin = block.input * parts;
  const int first = block.first;
  const int last = block.last;
  device::launch(
      stream, block.count * parts, COMMLENS_LAMBDA(std::size_t i) {
        data[i] = static_cast<T>(all.combined(begin + i, first, last) == 0 ? 1.0F : 0.0F);
      });
}

/// In place, an allreduce that sums makes the next one's input: after k of them an element is S n^(k-1), S the sum of
/// the n inputs.
template <class T>
T growth(const Collective& collective, std::size_t operations) {
  if (exact_operations(collective) == unlimited || operations == 1) return static_cast<T>(1.0F);
  return static_cast<T>(std::pow(collective.shape.ranks, static_cast<double>(operations) - 1));
}

template <class T>
Verdict expect_combined(device::Stream& stream, const Collective& collective, std::size_t round, const Block& block,
                        std::size_t operations) {
  const Contributions all = contributions<T>(collective, round);
  const T factor = growth<T>(collective, operations);
  const std::size_t parts = components(collective.type);
  const T* data = static_cast<const T*>(collective.output) + block.output * parts;
  const std::size_t count = block.count * parts;
  const std::size_t begin = block.input * parts;
  const int first = block.first;
  const int last = block.last;
  const std::size_t wrong = device::find_first(
      stream, count, COMMLENS_LAMBDA(std::size_t i) {
        return data[i] != static_cast<T>(static_cast<T>(all.combined(begin + i, first, last)) * factor);
      });
  Verdict verdict{.elements = count, .error = ""};
  if (wrong < count) {
    const auto element = static_cast<double>(device::download(data + wrong, stream));
    const auto wanted =
        static_cast<double>(static_cast<T>(static_cast<T>(all.combined(begin + wrong, first, last)) * factor));
    verdict.error = "element " + std::to_string(wrong) + " of " + std::to_string(count) + " is " + text(element) +
                    ", must be " + text(wanted);
  }
  return verdict;
}

/// How many sums in place stay exact: the odd part of S n^(k-1) must fit the significand and all of it the range.
template <class T>
std::size_t exact_sums(const Collective& collective) {
  const int ranks = collective.shape.ranks;
  if (ranks == 1) return unlimited;
  if constexpr (!std::numeric_limits<T>::is_specialized || sizeof(T) < 4) return 1;
  int odd = ranks;
  while (odd % 2 == 0) odd /= 2;
  constexpr int digits = std::numeric_limits<T>::digits;
  constexpr int range = std::numeric_limits<T>::is_integer ? digits : std::numeric_limits<T>::max_exponent;
  const auto largest = static_cast<double>(contributions<T>(collective, 0).largest_sum());
  const double bits = std::log2(largest);
  std::size_t sums = 1;
  while (bits + static_cast<double>(sums) * std::log2(odd) < digits &&
         bits + static_cast<double>(sums) * std::log2(ranks) < range) {
    ++sums;
  }
  return sums;
}

/// Every byte, or every number, is made to differ from the result.
void poison(device::Stream& stream, const Collective& collective, std::size_t round) {
  const std::size_t size = size_of(collective.type);
  for (const Block& block : collective.blocks()) {
    if (collective.description().reduces) {
      with_element(collective.type,
                   [&](auto zero) { poison_combined<decltype(zero)>(stream, collective, round, block); });
    } else {
      pattern::poison_bytes(stream, static_cast<std::byte*>(collective.output) + block.output * size,
                            block.count * size, seed(collective, round, block.first), block.input * size);
    }
  }
}

}  // namespace

void write(device::Stream& stream, const Collective& collective, std::size_t round) {
  const auto& operation = collective.description();
  poison(stream, collective, round);
  auto* const data = const_cast<void*>(collective.input);  // which the benchmark owns
  const std::size_t input = operation.input(collective.shape);
  if (!operation.reduces) {
    const std::uint64_t mine = seed(collective, round, collective.shape.rank);
    return pattern::write_bytes(stream, data, input * size_of(collective.type), mine);
  }
  with_element(collective.type, [&](auto zero) {
    write_contributions(stream, collective, round, static_cast<decltype(zero)*>(data),
                        input * components(collective.type));
  });
}

Verdict expect(device::Stream& stream, const Collective& collective, std::size_t round, std::size_t operations) {
  const std::size_t size = size_of(collective.type);
  Verdict verdict{.elements = 0, .error = ""};
  for (const Block& block : collective.blocks()) {
    Verdict of_block;
    if (collective.description().reduces) {
      with_element(collective.type, [&](auto zero) {
        of_block = expect_combined<decltype(zero)>(stream, collective, round, block, operations);
      });
    } else {
      of_block = pattern::expect_bytes(stream, static_cast<const std::byte*>(collective.output) + block.output * size,
                                       block.count * size, seed(collective, round, block.first), block.input * size);
      if (!of_block.error.empty()) of_block.error += " (from rank " + std::to_string(block.first) + ")";
    }
    verdict.elements += of_block.elements;
    if (!of_block.error.empty()) return of_block;
  }
  return verdict;
}

std::size_t exact_operations(const Collective& collective) {
  if (!collective.in_place) return unlimited;
  const auto& operation = collective.description();
  if (operation.repeats_in_place == transport::RepeatsInPlace::never) return 1;
  if (!operation.reduces || is_idempotent(collective.reduction)) return unlimited;
  const bool sums = collective.reduction == Reduction::sum || collective.reduction == Reduction::user;
  if (operation.repeats_in_place != transport::RepeatsInPlace::always || !sums) return 1;
  std::size_t operations = 1;
  with_element(collective.type, [&](auto zero) { operations = exact_sums<decltype(zero)>(collective); });
  return operations;
}

}  // namespace commlens::collectives

// DFT-FE's device-direct Allreduce: the in-place sum of an array over all ranks, 50 calls between two synchronizations.
//
// Inputs are small integers, so that the sum is exact in every type. An in-place sum makes the next one's input: after
// k of them an element is S n^(k-1), S the sum of the n inputs. `exact_sums` says how many that can be before a bit is
// lost.
#include <cmath>
#include <limits>
#include <string>

#include "device/launch.hpp"
#include "harness/benchmark.hpp"
#include "harness/pattern.hpp"
#include "harness/usage_error.hpp"

namespace commlens {
namespace {

struct AllreduceOptions {
  std::size_t count = 10'000'000;
  Sweep bytes;  ///< empty: `count` elements
  DataType type = DataType::f64;
  bool in_place = true;

  void describe(OptionSet& options) {
    auto& counted = options.add("count", count, "elements of the array (where --bytes is not given)");
    counted.value = [this] { return static_cast<std::int64_t>(elements()); };
    counted.sizes = true;
    auto& sized = options.add("bytes", bytes, "size or sizes of the array: 80M, 8:1G (times 2), 8:1G:x8");
    sized.value = [this] { return static_cast<std::int64_t>(size()); };
    options.add("dtype", type, "type of an element");
    options.add_flag("in-place", "out-of-place", in_place, "one buffer for input and output, or two");
  }

  void settle(int /*ranks*/) const {
    if (count > (std::size_t{1} << 60) / size_of(type)) {
      throw UsageError("count", std::to_string(count), "larger than any machine; the default is 10000000");
    }
    for (const std::size_t value : bytes.values) {
      if (value % size_of(type) == 0) continue;
      throw UsageError("bytes", std::to_string(value),
                       "not a multiple of the " + std::to_string(size_of(type)) + " bytes of " +
                           std::string(name(type)) + "; begin with --bytes " + std::to_string(size_of(type)));
    }
  }

  [[nodiscard]] std::size_t size() const { return bytes.values.empty() ? count * size_of(type) : bytes.current; }
  [[nodiscard]] std::size_t elements() const { return size() / size_of(type); }
  [[nodiscard]] Footprint footprint(int /*rank*/, int /*ranks*/) const {
    const auto bytes_of_array = static_cast<double>(size());
    return {.buffers = bytes_of_array * (in_place ? 1 : 2), .operation = bytes_of_array};
  }
  [[nodiscard]] static device::Memory memory(int /*rank*/, int /*ranks*/, device::Memory chosen) { return chosen; }
};

constexpr int base_values = 32;
constexpr int rank_values = 4;

/// What rank `rank` contributes to element i: between 1 and 35.
COMMLENS_FUNCTION inline int contribution(std::size_t i, std::uint64_t round, int rank) {
  return 1 + static_cast<int>(pattern::mix(i, round) % base_values) + rank % rank_values;
}

/// The sum of all ranks' contributions to element i.
COMMLENS_FUNCTION inline std::int64_t sum_of_contributions(std::size_t i, std::uint64_t round, int ranks) {
  const std::int64_t whole = ranks / rank_values;
  const std::int64_t rest = ranks % rank_values;
  const std::int64_t of_ranks = whole * (rank_values * (rank_values - 1) / 2) + rest * (rest - 1) / 2;
  return static_cast<std::int64_t>(ranks) * contribution(i, round, 0) + of_ranks;
}

/// How many sums in place stay exact: the odd part of S n^(k-1) must fit the significand and all of it the range.
template <class T>
std::size_t exact_sums(int ranks) {
  if (ranks == 1) return static_cast<std::size_t>(-1);
  int odd = ranks;
  while (odd % 2 == 0) odd /= 2;
  constexpr int digits = std::numeric_limits<T>::digits;
  constexpr int range = std::numeric_limits<T>::is_integer ? digits : std::numeric_limits<T>::max_exponent;
  const double largest_sum = std::log2(static_cast<double>(ranks) * (base_values + rank_values));
  std::size_t sums = 1;
  while (largest_sum + static_cast<double>(sums) * std::log2(odd) < digits &&
         largest_sum + static_cast<double>(sums) * std::log2(ranks) < range) {
    ++sums;
  }
  return sums;
}

/// The array as real numbers: a complex one is twice as many.
template <class T>
struct Array {
  T* data;
  std::size_t count;
};

template <class T>
void write(device::Stream& stream, Array<T> array, std::uint64_t round, int rank) {
  T* data = array.data;
  device::launch(
      stream, array.count, COMMLENS_LAMBDA(std::size_t i) { data[i] = static_cast<T>(contribution(i, round, rank)); });
}

template <class T>
void spoil(device::Stream& stream, Array<T> array) {
  T* data = array.data;
  device::launch(stream, array.count, COMMLENS_LAMBDA(std::size_t i) { data[i] = static_cast<T>(-1); });
}

/// Every element must be S times `factor`.
template <class T>
Verdict expect_sum(device::Stream& stream, Array<T> array, std::uint64_t round, int ranks, T factor) {
  const T* data = array.data;
  const std::size_t wrong = device::find_first(
      stream, array.count, COMMLENS_LAMBDA(std::size_t i) {
        return data[i] != static_cast<T>(sum_of_contributions(i, round, ranks)) * factor;
      });
  Verdict verdict{.elements = array.count, .error = ""};
  if (wrong < array.count) {
    T found{};
    stream.copy(&found, data + wrong, sizeof found);
    stream.wait();
    verdict.error = "element " + std::to_string(wrong) + " of " + std::to_string(array.count) + " is " +
                    std::to_string(found) + ", must be " +
                    std::to_string(static_cast<T>(sum_of_contributions(wrong, round, ranks)) * factor);
  }
  return verdict;
}

std::vector<measure::Figure> figures(std::size_t bytes, int ranks, std::size_t repeat) {
  using measure::Better;
  const auto size = static_cast<double>(bytes);
  // nccl-tests' definition: each rank must send and receive (n-1)/n of the bytes twice, once to reduce and once to
  // spread.
  const double bus = 2.0 * (ranks - 1) / ranks;
  return {{"time_us", Better::lower, [](double seconds) { return seconds * 1e6; }},
          {"batch_s", Better::lower, [=](double seconds) { return seconds * static_cast<double>(repeat); }},
          {"algorithm_bandwidth_GBps", Better::higher, [=](double seconds) { return size / seconds * 1e-9; }},
          {"bus_bandwidth_GBps", Better::higher, [=](double seconds) { return size * bus / seconds * 1e-9; }}};
}

/// On one rank nothing travels; there is no ceiling then.
std::vector<CeilingRequest> ceilings(std::size_t bytes, int rank, int ranks) {
  if (ranks == 1) return {};
  return {CopyCeiling{.bytes = bytes, .copies = 2.0 * (ranks - 1) / ranks, .peer = (rank + 1) % ranks}};
}

template <class T>
void allreduce_of(Run& run, const AllreduceOptions& options) {
  auto& stream = run.stream();
  const auto output = run.buffer(options.size());
  const auto input = options.in_place ? device::Buffer() : run.buffer(options.size());
  const void* source = options.in_place ? output.data() : input.data();
  const Array<T> contributions{options.in_place ? output.template as<T>() : input.template as<T>(),
                               options.size() / sizeof(T)};
  const Array<T> sums{output.template as<T>(), options.size() / sizeof(T)};
  const auto repetition = run.repetition({.repeat = 50, .warmup = 5, .batches = 10});
  run.measure(
      {.operation = "allreduce",
       .reset =
           [&](std::size_t round) {
             if (!options.in_place) spoil(stream, sums);
             write(stream, contributions, round, run.rank());
           },
       .operate = [&] { run.transport().allreduce(source, output.data(), options.elements(), options.type, stream); },
       .verify =
           [&](std::size_t round, std::size_t operations) {
             const double growth = options.in_place ? std::pow(run.ranks(), static_cast<double>(operations) - 1) : 1.0;
             return expect_sum(stream, sums, round, run.ranks(), static_cast<T>(growth));
           },
       .operations_per_reset = options.in_place ? exact_sums<T>(run.ranks()) : static_cast<std::size_t>(-1),
       .repetition = repetition,
       .figures = figures(options.size(), run.ranks(), repetition.repeat),
       .ceilings = ceilings(options.size(), run.rank(), run.ranks())});
}

void allreduce(Run& run, const AllreduceOptions& options) {
  require_sums(run, options.type);
  switch (options.type) {
    case DataType::i32:
      return allreduce_of<std::int32_t>(run, options);
    case DataType::f32:
    case DataType::c64:
      return allreduce_of<float>(run, options);
    case DataType::f64:
    case DataType::c128:
      return allreduce_of<double>(run, options);
  }
}

BENCHMARK("allreduce", "sum an array over all ranks (DFT-FE's device-direct Allreduce)", allreduce, AllreduceOptions);

}  // namespace
}  // namespace commlens

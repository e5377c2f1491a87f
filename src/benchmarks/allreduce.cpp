// DFT-FE's device-direct Allreduce: the in-place sum of an array over all ranks, 50 calls between two synchronizations.
//
// Inputs are small integers, so that the sum is exact in every type. An in-place sum makes the next one's input: after
// k of them an element is S n^(k-1), S the sum of the n inputs. `exact_sums` says how many that can be before a bit is
// lost.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "device/launch.hpp"
#include "device/upload.hpp"
#include "harness/benchmark.hpp"
#include "harness/pattern.hpp"

namespace commlens {
namespace {

constexpr Metric batch_s{"batch_s", unit::s, Better::lower,
                         "time of harness.repeat calls: what the DFT-FE mini-app prints"};
constexpr Metric algorithm_bandwidth_GBps{"algorithm_bandwidth_GBps", unit::GBps, Better::higher,
                                          "bytes of the array over the time"};
constexpr Metric bus_bandwidth_GBps{"bus_bandwidth_GBps", unit::GBps, Better::higher,
                                    "the algorithm bandwidth times 2(n-1)/n for n ranks, as nccl-tests defines it"};

struct AllreduceOptions {
  static constexpr std::size_t default_count = 10'000'000;

  std::size_t count = 0;  ///< 0: not given
  Sizes bytes;            ///< empty: `count` elements
  DataType type = DataType::f64;
  bool in_place = true;
  bool sized_by_count = true;  ///< set by resolve()

  void describe(OptionSet& options) {
    auto& counted = options.add("count", count, "elements of the array (where --bytes is not given)");
    counted.role(measure::Role::derived)
        .shown_as([this] { return std::to_string(count > 0 ? count : default_count); })
        .recorded_as([this] { return static_cast<std::int64_t>(elements()); });
    if (sized_by_count) counted.sets_the_size();
    options.add("bytes", bytes, "size or sizes of the array: 80M, 8:1G (times 2), 8:1G:x8");
    options.add("dtype", type, "type of an element");
    options.add_flag("in-place", "out-of-place", in_place, "one buffer for input and output, or two");
  }

  void resolve(int /*ranks*/) {
    if (count > 0 && !bytes.empty()) {
      throw UsageError("count", std::to_string(count), "--bytes gives the size, too: leave one of the two out");
    }
    if (count == 0) count = default_count;
    if (count > (std::size_t{1} << 60) / size_of(type)) {
      throw UsageError("count", std::to_string(count),
                       "larger than any machine; the default is " + std::to_string(default_count));
    }
    sized_by_count = bytes.empty();
    if (sized_by_count) bytes.values = {count * size_of(type)};
    for (const std::size_t value : bytes.values) {
      if (value % size_of(type) == 0) continue;
      throw UsageError("bytes", std::to_string(value),
                       "not a multiple of the " + std::to_string(size_of(type)) + " bytes of " +
                           std::string(name(type)) + "; begin with --bytes " + std::to_string(size_of(type)));
    }
  }

  [[nodiscard]] std::size_t elements() const { return bytes.largest() / size_of(type); }
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

/// The array as real numbers: a complex array has twice as many.
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
void poison(device::Stream& stream, Array<T> array) {
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
    const T element = device::download(data + wrong, stream);
    verdict.error = "element " + std::to_string(wrong) + " of " + std::to_string(array.count) + " is " +
                    std::to_string(element) + ", must be " +
                    std::to_string(static_cast<T>(sum_of_contributions(wrong, round, ranks)) * factor);
  }
  return verdict;
}

/// nccl-tests' definition: each rank must send and receive (n-1)/n of the bytes twice, once to reduce and once to
/// distribute.
double bus_factor(int ranks) { return 2.0 * (ranks - 1) / ranks; }

std::vector<CeilingRequest> ceilings(std::size_t bytes, int rank, int ranks) {
  return {CopyCeiling{.bytes = bytes, .copies = bus_factor(ranks), .peer = (rank + 1) % ranks}};
}

template <class T>
void allreduce_of(Run& run, const AllreduceOptions& options) {
  auto& stream = run.stream();
  const auto output = run.buffer(options.bytes);
  const auto input = options.in_place ? device::Buffer() : run.buffer(options.bytes);
  const device::Buffer& source = options.in_place ? output : input;
  const Array<T> contributions{source.as<T>(), options.bytes / sizeof(T)};
  const Array<T> sums{output.template as<T>(), options.bytes / sizeof(T)};
  const auto repetition = run.repetition({.repeat = 50, .warmup = 5, .batches = 10});
  const auto bytes = static_cast<double>(options.bytes.value());
  run.measure(
      {.operation = "allreduce",
       .reset =
           [&](std::size_t round) {
             if (!options.in_place) poison(stream, sums);
             write(stream, contributions, round, run.rank());
           },
       .operate =
           [&] { run.transport().allreduce(source.data(), output.data(), options.elements(), options.type, stream); },
       .verify =
           [&](std::size_t round, std::size_t operations) {
             const double growth = options.in_place ? std::pow(run.ranks(), static_cast<double>(operations) - 1) : 1.0;
             return expect_sum(stream, sums, round, run.ranks(), static_cast<T>(growth));
           },
       .operations_per_reset = options.in_place ? exact_sums<T>(run.ranks()) : static_cast<std::size_t>(-1),
       .repetition = repetition,
       .metrics = {time_us(), batch_s(static_cast<double>(repetition.repeat)), algorithm_bandwidth_GBps(bytes),
                   bus_bandwidth_GBps(bytes * bus_factor(run.ranks()))},
       .ceilings = ceilings(options.bytes, run.rank(), run.ranks())});
}

void allreduce(Run& run, const AllreduceOptions& options) {
  if (run.ranks() == 1) throw Unsupported("one rank has nobody to communicate with: start at least 2");
  require_sums(run, options.type);
  if (options.type == DataType::i32) return allreduce_of<std::int32_t>(run, options);
  in_precision(options.type, [&](auto real) { allreduce_of<decltype(real)>(run, options); });
}

BENCHMARK("allreduce", "sum an array over all ranks (DFT-FE's device-direct Allreduce)", allreduce, AllreduceOptions,
          .metrics = {time_us, batch_s, algorithm_bandwidth_GBps, bus_bandwidth_GBps},
          .classic = {{.format = "osu", .title = "Allreduce Latency Test", .columns = {{"Avg Latency(us)", "time_us"}}},
                      {.format = "dftfe", .title = "MPI_Allreduce", .columns = {{"", "batch_s"}}}});

}  // namespace
}  // namespace commlens

// The time of one operation on the memory of another rank: the definitions of osu_put_latency, osu_get_latency,
// osu_acc_latency, osu_get_acc_latency, osu_fop_latency and osu_cas_latency in the OSU micro-benchmarks 7.
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "benchmarks/one_sided/one_sided.hpp"

namespace commlens::one_sided {
namespace {

constexpr Metric one_sided_latency_us{
    "latency_us", unit::us, Better::lower,
    "time of one operation with its synchronization; with fence and pscw, where the ranks take "
    "turns, half of a round trip"};

struct LatencyOptions : WindowedPairOptions {
  [[nodiscard]] MemoryEstimate memory_estimate(int /*rank*/, int /*ranks*/) const {
    return {.buffers = 2 * static_cast<double>(bytes.largest())};
  }
};

struct AccumulateOptions : WindowedPairOptions {
  AtomicType type = AtomicType::u8;

  void describe(OptionSet& options) {
    WindowedPairOptions::describe(options);
    options.add("dtype", type, "type of an element");
  }
  void resolve(int ranks, const std::vector<std::string>& hosts) {
    PairOptions::resolve(ranks, hosts);
    for (const std::size_t value : bytes.values) {
      if (value % size_of(type) == 0) continue;
      throw UsageError("bytes", std::to_string(value),
                       "not a multiple of the " + std::to_string(size_of(type)) + " bytes of " +
                           std::string(name(type)) + "; begin with --bytes " + std::to_string(size_of(type)));
    }
  }
  [[nodiscard]] MemoryEstimate memory_estimate(int /*rank*/, int /*ranks*/) const {
    return {.buffers = 3 * static_cast<double>(bytes.largest())};
  }
};

/// Operations on a single element.
struct FetchOptions : WindowedPairOptions {
  /// i64 makes osc/rdma of Open MPI 4.1 crash in MPI_Compare_and_swap, in windows that it has allocated itself.
  AtomicType type = AtomicType::i32;

  void describe(OptionSet& options) {
    describe_pairs(options);
    describe_synchronization(options);
    options.add("dtype", type, "type of the element");
  }
  [[nodiscard]] MemoryEstimate memory_estimate(int /*rank*/, int /*ranks*/) const {
    return {.buffers = 3 * static_cast<double>(fetched_bytes(size_of(type)))};
  }
};

struct SwapOptions : FetchOptions {
  void resolve(int ranks, const std::vector<std::string>& hosts) {
    if (type == AtomicType::f32 || type == AtomicType::f64) {
      throw UsageError("dtype", std::string(name(type)), "MPI_Compare_and_swap is for integers: write u8, i32 or i64");
    }
    PairOptions::resolve(ranks, hosts);
  }
};

void measure(Run& run, const WindowedPairOptions& options, const Operation& operation, Memory memory) {
  const bool takes_turns = is_active(options.synchronization);
  const std::size_t bytes = memory.bytes;
  const std::size_t most = most_operations(operation, memory.type);
  WindowedPair pair(run, options, operation, std::move(memory));
  Measurement measurement{
      .operation = takes_turns ? "round trip" : std::string(operation.name),
      .reset = [&](std::size_t round) { pair.reset(round); },
      .operate = [&] { pair.one_way(); },
      .verify = [&](std::size_t round, std::size_t operations) { return pair.verify(round, operations, takes_turns); },
      .operations_per_reset = most,
      .repetition = ping_pong_repetition(bytes),
      .metrics = {one_sided_latency_us(takes_turns ? 0.5 : 1)},
      .ceilings = {pair.ceiling(takes_turns ? 2 : 1)}};
  if (takes_turns) measurement.operate = [&] { pair.round_trip(); };
  run.measure(measurement);
  pair.settle();
}

void put_latency(Run& run, const LatencyOptions& options) {
  measure(run, options, put, {.local = run.buffer(options.bytes), .bytes = options.bytes});
}
void get_latency(Run& run, const LatencyOptions& options) {
  measure(run, options, get, {.local = run.buffer(options.bytes), .bytes = options.bytes});
}
void accumulate_latency(Run& run, const AccumulateOptions& options) {
  measure(run, options, accumulate, {.local = run.buffer(options.bytes), .bytes = options.bytes, .type = options.type});
}
void get_accumulate_latency(Run& run, const AccumulateOptions& options) {
  measure(run, options, get_accumulate,
          {.local = run.buffer(options.bytes),
           .before = run.buffer(options.bytes),
           .bytes = options.bytes,
           .type = options.type});
}
void measure_fetches(Run& run, const FetchOptions& options, const Operation& operation) {
  const std::size_t size = size_of(options.type);
  measure(run, options, operation,
          {.local = run.buffer(fetched_bytes(size)),
           .before = run.buffer(fetched_bytes(size)),
           .bytes = size,
           .type = options.type});
}
void fetch_and_op_latency(Run& run, const FetchOptions& options) { measure_fetches(run, options, fetch_and_op); }
void compare_and_swap_latency(Run& run, const SwapOptions& options) { measure_fetches(run, options, compare_and_swap); }

measure::ClassicLayout osu_latency(std::string_view call, std::string_view title) {
  return osu_one_sided(call, title, {{"Latency (us)", "latency_us"}});
}

BENCHMARK("put-latency", "writing to the memory of another rank: MPI_Put (osu_put_latency)", put_latency,
          LatencyOptions, .metrics = {one_sided_latency_us}, .facts = {window_creation},
          .classic = {osu_latency("MPI_Put", "Latency Test")});
BENCHMARK("get-latency", "reading the memory of another rank: MPI_Get (osu_get_latency)", get_latency, LatencyOptions,
          .metrics = {one_sided_latency_us}, .facts = {window_creation},
          .classic = {osu_latency("MPI_Get", "latency Test")});
BENCHMARK("accumulate-latency", "adding to the memory of another rank: MPI_Accumulate (osu_acc_latency)",
          accumulate_latency, AccumulateOptions, .metrics = {one_sided_latency_us}, .facts = {window_creation},
          .classic = {osu_latency("MPI_Accumulate", "latency Test")});
BENCHMARK("get-accumulate-latency",
          "adding to the memory of another rank and fetching what was there: MPI_Get_accumulate (osu_get_acc_latency)",
          get_accumulate_latency, AccumulateOptions, .metrics = {one_sided_latency_us}, .facts = {window_creation},
          .classic = {osu_latency("MPI_Get_accumulate", "latency Test")});
BENCHMARK("fetch-and-op-latency", "adding to one element and fetching it: MPI_Fetch_and_op (osu_fop_latency)",
          fetch_and_op_latency, FetchOptions, .metrics = {one_sided_latency_us}, .facts = {window_creation},
          .classic = {osu_latency("MPI_Fetch_and_op", "latency Test")});
BENCHMARK("compare-and-swap-latency", "replacing one element if it has a value: MPI_Compare_and_swap (osu_cas_latency)",
          compare_and_swap_latency, SwapOptions, .metrics = {one_sided_latency_us}, .facts = {window_creation},
          .classic = {osu_latency("MPI_Compare_and_swap", "latency Test")});

}  // namespace
}  // namespace commlens::one_sided

// Windows of operations on the memory of another rank: the definitions of osu_put_bw, osu_get_bw and osu_put_bibw in
// the OSU micro-benchmarks 7.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "benchmarks/one_sided/one_sided.hpp"

namespace commlens::one_sided {
namespace {

struct BandwidthOptions : WindowedPairOptions {
  std::size_t window = 64;

  void describe(OptionSet& options) {
    WindowedPairOptions::describe(options);
    options.add("window", window, "operations under way at the same time");
  }
  void resolve(int ranks, const std::vector<std::string>& hosts) {
    check_window(window);
    WindowedPairOptions::resolve(ranks, hosts);
  }
  [[nodiscard]] MemoryEstimate memory_estimate(int /*rank*/, int /*ranks*/) const {
    return {.buffers = 2 * static_cast<double>(window) * static_cast<double>(bytes.largest())};
  }
};

struct BidirectionalOptions : BandwidthOptions {
  BidirectionalOptions() { synchronization = Synchronization::pscw; }

  void resolve(int ranks, const std::vector<std::string>& hosts) {
    if (!is_active(synchronization)) {
      throw UsageError("synchronization", std::string(name(synchronization)),
                       "each rank must learn when its memory has been written: write fence or pscw");
    }
    BandwidthOptions::resolve(ranks, hosts);
  }
};

void measure(Run& run, const BandwidthOptions& options, const Operation& operation, bool both) {
  const std::size_t bytes = options.bytes;
  WindowedPair pair(run, options, operation,
                    {.local = run.buffer(options.window * bytes), .bytes = bytes, .step = bytes}, options.window);
  const auto messages = static_cast<double>(options.window);
  const auto moved = (both ? 2 : 1) * messages * static_cast<double>(bytes * options.pairs);
  run.measure(
      {.operation = "window of " + std::to_string(options.window) + " operations" + (both ? " each way" : ""),
       .reset = [&](std::size_t round) { pair.reset(round); },
       .operate = [&] { both ? pair.both_ways() : pair.one_way(); },
       .verify = [&](std::size_t round, std::size_t operations) { return pair.verify(round, operations, both); },
       .repetition = window_repetition(bytes),
       .metrics = {bandwidth_GBps(moved)},
       .ceilings = {pair.ceiling(messages, both)}});
  pair.settle();
}

void put_bandwidth(Run& run, const BandwidthOptions& options) { measure(run, options, put, false); }
void get_bandwidth(Run& run, const BandwidthOptions& options) { measure(run, options, get, false); }
void put_bidirectional_bandwidth(Run& run, const BidirectionalOptions& options) { measure(run, options, put, true); }

measure::ClassicLayout osu_bandwidth(std::string_view call, std::string_view title) {
  return osu_one_sided(call, title, {{"Bandwidth (MB/s)", "bandwidth_GBps", 1e3}});
}

BENCHMARK("put-bandwidth", "windows of MPI_Put to another rank (osu_put_bw)", put_bandwidth, BandwidthOptions,
          .metrics = {bandwidth_GBps}, .facts = {window_creation},
          .classic = {osu_bandwidth("MPI_Put", "Bandwidth Test")});
BENCHMARK("get-bandwidth", "windows of MPI_Get from another rank (osu_get_bw)", get_bandwidth, BandwidthOptions,
          .metrics = {bandwidth_GBps}, .facts = {window_creation},
          .classic = {osu_bandwidth("MPI_Get", "Bandwidth Test")});
BENCHMARK("put-bidirectional-bandwidth", "windows of MPI_Put in both directions at once (osu_put_bibw)",
          put_bidirectional_bandwidth, BidirectionalOptions, .metrics = {bandwidth_GBps}, .facts = {window_creation},
          .classic = {osu_bandwidth("MPI_Put", "Bi-directional Bandwidth Test")});

}  // namespace
}  // namespace commlens::one_sided

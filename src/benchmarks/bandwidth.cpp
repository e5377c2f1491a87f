// A window of non-blocking sends answered by one short message: the definition of osu_bw in the OSU micro-benchmarks 7.
#include <cstddef>

#include "benchmarks/pair_matrix.hpp"
#include "benchmarks/point_to_point.hpp"

namespace commlens {
namespace {

constexpr Fact median_pair_bandwidth_GBps{"median_pair_bandwidth_GBps", unit::GBps,
                                          "with --matrix: the median of the bandwidths of all pairs"};

struct LaidOutWindowOptions : WindowOptions {
  void describe(OptionSet& options) {
    WindowOptions::describe(options);
    layout.describe(options);
  }
  [[nodiscard]] MemoryEstimate memory_estimate(int /*rank*/, int /*ranks*/) const { return estimate(window); }
};
using BandwidthOptions = WithMatrix<LaidOutWindowOptions>;

void bandwidth(Run& run, const BandwidthOptions& options) {
  Pair pair(run, options, options.window);
  Window window(run, pair, options.window);
  const auto messages = static_cast<double>(options.window);
  Measurement measurement{.operation = options.operation(),
                          .reset = [&](std::size_t round) { pair.reset(round); },
                          .operate = [&] { window.operate(); },
                          .verify = [&](std::size_t round) { return window.verify(round); },
                          .repetition = window_repetition(pair.bytes()),
                          .metrics = {bandwidth_GBps(messages * static_cast<double>(pair.bytes() * options.pairs))}};
  if (options.matrix) {
    const PairSurvey survey{
        .directed = true, .median = median_pair_bandwidth_GBps, .prepare = [&] { window.prepare(); }};
    survey_pairs(run, pair, options, survey, measurement);
  }
  measurement.ceilings = {pair.ceiling(messages)};
  run.measure(measurement);
}

BENCHMARK("bandwidth", "windows of messages from one rank to another (osu_bw)", bandwidth, BandwidthOptions,
          .metrics = {bandwidth_GBps}, .facts = {slowest_pair, median_pair_bandwidth_GBps},
          .classic = {osu_pairs("Bandwidth Test", {{"Bandwidth (MB/s)", "bandwidth_GBps", 1e3}})});

}  // namespace
}  // namespace commlens

// Half the round trip of a blocking ping-pong: the definition of osu_latency in the OSU micro-benchmarks 7.
#include <cstddef>

#include "benchmarks/pair_matrix.hpp"
#include "benchmarks/point_to_point.hpp"

namespace commlens {
namespace {

constexpr Metric latency_us{"latency_us", unit::us, Better::lower, "half the round trip"};
constexpr Fact median_pair_latency_us{"median_pair_latency_us", unit::us,
                                      "with --matrix: the median of the latencies of all pairs"};

using LatencyOptions = WithMatrix<PairOptions>;

void latency(Run& run, const LatencyOptions& options) {
  Pair pair(run, options);
  Measurement measurement{.operation = "round trip",
                          .reset = [&](std::size_t round) { pair.reset(round); },
                          .operate =
                              [&] {
                                if (pair.waits()) return;
                                if (pair.first()) pair.send();
                                pair.receive();
                                if (!pair.first()) pair.send();
                              },
                          .verify = [&](std::size_t round) { return pair.verify(round); },
                          .repetition = ping_pong_repetition(pair.bytes()),
                          .metrics = {latency_us(0.5)}};
  if (options.matrix) survey_pairs(run, pair, options, {.median = median_pair_latency_us}, measurement);
  measurement.ceilings = {pair.ceiling(2)};
  run.measure(measurement);
}

BENCHMARK("latency", "half the round trip of a ping-pong between two ranks (osu_latency)", latency, LatencyOptions,
          .metrics = {latency_us}, .facts = {slowest_pair, median_pair_latency_us},
          .classic = {osu_pairs("Latency Test", {{"Avg Latency(us)", "latency_us"}})});

}  // namespace
}  // namespace commlens

// Half the round trip of a blocking ping-pong: the definition of osu_latency in the OSU micro-benchmarks 7.
#include "benchmarks/point_to_point.hpp"

namespace commlens {
namespace {

constexpr measure::Metric latency_us{"latency_us", measure::unit::us, measure::Better::lower, "half the round trip"};

void latency(Run& run, const PairOptions& options) {
  Pair pair(run, options);
  run.measure(
      {.operation = "round trip",
       .reset = [&](std::size_t round) { pair.reset(round); },
       .operate =
           [&] {
             if (pair.first()) pair.send();
             pair.receive();
             if (!pair.first()) pair.send();
           },
       .verify = [&](std::size_t round) { return pair.verify(round); },
       .repetition = ping_pong_repetition(pair.bytes()),
       .metrics = {latency_us(0.5)},
       .ceilings = {CopyCeiling{.bytes = pair.bytes(), .copies = 2, .peer = pair.peer(), .takes_part = pair.first()}}});
}

BENCHMARK("latency", "half the round trip of a ping-pong between two ranks (osu_latency)", latency, PairOptions,
          .metrics = {latency_us});

}  // namespace
}  // namespace commlens

// Half the round trip of a blocking ping-pong: the definition of osu_latency in the OSU micro-benchmarks 7.
#include "benchmarks/point_to_point.hpp"

namespace commlens {
namespace {

void latency(Run& run, const PairOptions& options) {
  Pair pair(run, options);
  run.measure(
      {.operation = "round trip",
       .reset = [&](std::size_t round) { pair.reset(round); },
       .operate =
           [&] {
             if (pair.first()) {
               pair.send();
               pair.receive();
             } else {
               pair.receive();
               pair.send();
             }
           },
       .verify = [&](std::size_t round, std::size_t) { return pair.verify(round); },
       .repetition = run.repetition(ping_pong_repetition(pair.bytes())),
       .figures = {{"latency_us", measure::Better::lower, [](double seconds) { return seconds / 2 * 1e6; }}},
       .ceilings = {CopyCeiling{.bytes = pair.bytes(), .copies = 2, .peer = pair.peer(), .takes_part = pair.first()}}});
}

BENCHMARK("latency", "half the round trip of a ping-pong between two ranks (osu_latency)", latency, PairOptions);

}  // namespace
}  // namespace commlens

// Windows of messages in both directions at once: the definition of osu_bibw in the OSU micro-benchmarks 7.
#include <cstddef>
#include <string>
#include <vector>

#include "benchmarks/point_to_point.hpp"

namespace commlens {
namespace {

struct BothWaysOptions : WindowOptions {
  void resolve(int ranks, const std::vector<std::string>& hosts) {
    if (call == CallMode::blocking) {
      throw UsageError("call", std::string(name(*call)),
                       "both ranks would wait in MPI_Send for each other; write nonblocking or persistent");
    }
    WindowOptions::resolve(ranks, hosts);
  }
};

void bidirectional_bandwidth(Run& run, const BothWaysOptions& options) {
  Pair pair(run, options);
  const std::size_t count = pair.waits() ? 0 : options.window;
  const auto exchange = pair.exchange(count, count);
  const auto messages = static_cast<double>(options.window);
  run.measure({.operation = options.operation() + " each way",
               .reset = [&](std::size_t round) { pair.reset(round); },
               .operate = [&] { exchange->run(run.stream()); },
               .verify = [&](std::size_t round) { return pair.verify(round); },
               .repetition = window_repetition(pair.bytes()),
               .metrics = {bandwidth_GBps(2 * messages * static_cast<double>(pair.bytes() * options.pairs))},
               .ceilings = {pair.ceiling(messages, true)}});
}

BENCHMARK("bidirectional-bandwidth", "windows of messages in both directions at once (osu_bibw)",
          bidirectional_bandwidth, BothWaysOptions, .metrics = {bandwidth_GBps},
          .classic = {osu_pairs("Bi-Directional Bandwidth Test", {{"Bandwidth (MB/s)", "bandwidth_GBps", 1e3}})});

}  // namespace
}  // namespace commlens

// Windows of messages in both directions at once: the definition of osu_bibw in the OSU micro-benchmarks 7.
#include <cstddef>
#include <vector>

#include "benchmarks/point_to_point.hpp"

namespace commlens {
namespace {

void bidirectional_bandwidth(Run& run, const WindowOptions& options) {
  Pair pair(run, options);
  const auto messages_of = [&](const device::Buffer& buffer) {
    return std::vector<transport::Message>(pair.waits() ? 0 : options.window,
                                           {pair.peer(), buffer.data(), pair.bytes()});
  };
  const auto exchange = run.transport().exchange(messages_of(pair.outgoing()), messages_of(pair.incoming()));
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
          bidirectional_bandwidth, WindowOptions, .metrics = {bandwidth_GBps},
          .classic = {osu_pairs("Bi-Directional Bandwidth Test", {{"Bandwidth (MB/s)", "bandwidth_GBps", 1e3}})});

}  // namespace
}  // namespace commlens

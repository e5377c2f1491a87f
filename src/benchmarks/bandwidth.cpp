// A window of non-blocking sends answered by one short message: the definition of osu_bw in the OSU micro-benchmarks 7.
#include "benchmarks/point_to_point.hpp"

namespace commlens {
namespace {

void bandwidth(Run& run, const WindowOptions& options) {
  Pair pair(run, options);
  Window window(run, pair, options.window);
  const auto messages = static_cast<double>(options.window);
  run.measure({.operation = options.operation(),
               .reset = [&](std::size_t round) { pair.reset(round); },
               .operate = [&] { window.operate(); },
               .verify = [&](std::size_t round) { return window.verify(round); },
               .repetition = window_repetition(pair.bytes()),
               .metrics = {bandwidth_GBps(messages * static_cast<double>(pair.bytes() * options.pairs))},
               .ceilings = {CopyCeiling{
                   .bytes = pair.bytes(), .copies = messages, .peer = pair.peer(), .takes_part = pair.first()}}});
}

BENCHMARK("bandwidth", "windows of messages from one rank to another (osu_bw)", bandwidth, WindowOptions,
          .metrics = {bandwidth_GBps});

}  // namespace
}  // namespace commlens

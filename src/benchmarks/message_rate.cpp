// Messages per second of several pairs of ranks at the same time: osu_mbw_mr in the OSU
// micro-benchmarks 7.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "benchmarks/point_to_point.hpp"

namespace commlens {
namespace {

constexpr Metric message_rate_per_s{"message_rate_per_s", unit::per_s, Better::higher,
                                    "messages of all pairs over the time"};

/// All ranks in pairs, unless the user says otherwise.
struct MessageRateOptions : WindowOptions {
  MessageRateOptions() { pairs = 0; }  // not to be typed: how the default is told from a choice

  void resolve(int ranks, const std::vector<std::string>& hosts) {
    if (pairs == 0 && !across) pairs = std::max<std::size_t>(1, static_cast<std::size_t>(ranks) / 2);
    WindowOptions::resolve(ranks, hosts);
  }
};

void message_rate(Run& run, const MessageRateOptions& options) {
  Pair pair(run, options);
  Window window(run, pair, options.window);
  const auto messages = static_cast<double>(options.window * options.pairs);
  run.measure({.operation = options.operation() + " of every pair",
               .reset = [&](std::size_t round) { pair.reset(round); },
               .operate = [&] { window.operate(); },
               .verify = [&](std::size_t round) { return window.verify(round); },
               .repetition = window_repetition(pair.bytes()),
               .metrics = {message_rate_per_s(messages), bandwidth_GBps(messages * static_cast<double>(pair.bytes()))},
               .ceilings = {pair.ceiling(static_cast<double>(options.window))}});
}

BENCHMARK("message-rate", "messages per second of pairs of ranks at the same time (osu_mbw_mr)", message_rate,
          MessageRateOptions, .metrics = {message_rate_per_s, bandwidth_GBps},
          .classic = {osu_pairs("Multiple Bandwidth / Message Rate Test",
                                {{"MB/s", "bandwidth_GBps", 1e3}, {"Messages/s", "message_rate_per_s"}}, true)});

}  // namespace
}  // namespace commlens

// A benchmark: what it costs to tell every rank the same.
#include "harness/benchmark.hpp"
#include "harness/pattern.hpp"

namespace commlens {
namespace {

struct BroadcastOptions {
  Sweep bytes{1, std::size_t{1} << 20};

  void describe(OptionSet& options) { options.add("bytes", bytes, "size or sizes of the message"); }
  void settle(int /*ranks*/) const {}
  [[nodiscard]] Footprint footprint(int /*rank*/, int /*ranks*/) const {
    const auto size = static_cast<double>(bytes.current);
    return {.buffers = size, .operation = size};
  }
  [[nodiscard]] static device::Memory memory(int /*rank*/, int /*ranks*/, device::Memory chosen) { return chosen; }
};

void broadcast(Run& run, const BroadcastOptions& options) {
  const auto data = run.buffer(options.bytes);
  const auto message = [&](std::size_t round) { return pattern::seed(data.bytes(), round); };
  run.measure({.operation = "broadcast",
               .reset =
                   [&](std::size_t round) {
                     const auto write = run.rank() == 0 ? pattern::write_bytes : pattern::spoil_bytes;
                     write(run.stream(), data.data(), data.bytes(), message(round));
                   },
               .operate = [&] { run.transport().broadcast(data.data(), data.bytes(), 0, run.stream()); },
               .verify =
                   [&](std::size_t round, std::size_t) {
                     return Verdict{data.bytes(),
                                    pattern::wrong_byte(run.stream(), data.data(), data.bytes(), message(round))};
                   },
               .repetition = run.repetition({.repeat = 100, .warmup = 10, .batches = 10}),
               .figures = {{"time_us", measure::Better::lower, [](double seconds) { return seconds * 1e6; }}}});
}

BENCHMARK("broadcast", "tell every rank the same", broadcast, BroadcastOptions);

}  // namespace
}  // namespace commlens

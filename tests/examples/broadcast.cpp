// A benchmark: one rank's buffer is sent to all others.
#include <cstddef>

#include "harness/benchmark.hpp"
#include "harness/pattern.hpp"

namespace commlens {
namespace {

constexpr Metric bandwidth_GBps{"bandwidth_GBps", unit::GBps, Better::higher, "bytes of the buffer over the time"};

struct BroadcastOptions {
  Sizes bytes{1, 1_MiB};

  void describe(OptionSet& options) { options.add("bytes", bytes, "size or sizes of the message"); }
};

void broadcast(Run& run, const BroadcastOptions& options) {
  const auto data = run.buffer(options.bytes);
  run.measure({.operation = "broadcast",
               .reset =
                   [&](std::size_t round) {
                     (run.rank() == 0 ? pattern::write_bytes : pattern::poison_bytes)(run.stream(), data, round);
                   },
               .operate = [&] { run.transport().broadcast(data.data(), data.bytes(), 0, run.stream()); },
               .verify = [&](std::size_t round) { return pattern::expect_bytes(run.stream(), data, round); },
               .metrics = {time_us(), bandwidth_GBps(static_cast<double>(data.bytes()))}});
}

BENCHMARK("broadcast", "send one rank's buffer to all others (MPI_Bcast)", broadcast, BroadcastOptions,
          .metrics = {time_us, bandwidth_GBps});

}  // namespace
}  // namespace commlens

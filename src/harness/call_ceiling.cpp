#include <cstddef>
#include <vector>

#include "base/stopwatch.hpp"
#include "harness/ceiling.hpp"
#include "harness/run.hpp"
#include "measure/statistics.hpp"

namespace commlens {

namespace {

constexpr std::size_t fewest = 6;
constexpr std::size_t most = 50;
constexpr double long_enough_s = 1;

}  // namespace

measure::Ceiling Ceilings::measure(const CallCeiling& ceiling, device::Stream& stream) const {
  double seconds = 0;
  double spent = 0;  // equal on all ranks
  for (const auto& call : ceiling.calls) {
    std::vector<double> samples;
    const double until = spent + long_enough_s / static_cast<double>(ceiling.calls.size());
    for (std::size_t i = 0; i < most && (i < fewest || spent < until); ++i) {
      communicator_.barrier();
      const Stopwatch stopwatch;
      call();
      stream.wait();
      samples.push_back(communicator_.sum_of_reals(stopwatch.seconds()) / communicator_.size());
      spent += samples.back();
      Run::heartbeat();
    }
    samples.erase(samples.begin());  // the first warms up
    seconds += measure::summarize(samples).median;
  }
  return {
      .name = ceiling.name,
      .method = ceiling.method + "; the mean over the ranks, the median of 5 to 49 of each by itself, after a barrier",
      .seconds = seconds,
      .rate = static_cast<double>(ceiling.bytes) / seconds * 1e-9,
      .library = true,
      .part = ceiling.part};
}

}  // namespace commlens

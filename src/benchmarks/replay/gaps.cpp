#include "benchmarks/replay/gaps.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "harness/run.hpp"

namespace commlens::replay {
namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

/// Between two reads, so that the cores of a node together do not use up the rate of its memory.
constexpr std::uint64_t steps_per_read = 8;

}  // namespace

/// Each step needs the one before, so that their time is the same wherever the loop is compiled into.
void BusyLoop::do_steps(std::uint64_t steps) {
  constexpr std::size_t cache_line = 64 / sizeof(std::uint64_t);
  std::uint64_t state = 1;
  for (std::uint64_t i = 0; i < steps; ++i) {
    if (i % steps_per_read == 0) {
      state += data_[place_];
      place_ = (place_ + cache_line) % data_.size();
    }
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    asm volatile("" : "+r"(state));  // the result is not used: without this there would be no loop
  }
}

BusyLoop::BusyLoop() {
  constexpr std::uint64_t steps = 100'000;
  constexpr int tries = 20;  // the fastest is one that nobody interrupted
  double fastest_ns = 0;
  for (int i = 0; i < tries; ++i) {
    const auto begin = Clock::now();
    do_steps(steps);
    const double ns = ns_since(begin);
    fastest_ns = i == 0 ? ns : std::min(fastest_ns, ns);
  }
  steps_per_ns_ = static_cast<double>(steps) / std::max(fastest_ns, 1.0);
}

void BusyLoop::work(double ns) { do_steps(static_cast<std::uint64_t>(ns * steps_per_ns_)); }

void BusyLoop::wait(double ns) {
  const auto begin = Clock::now();
  while (ns_since(begin) < ns) do_steps(steps_per_read);
}

double GapLoop::mean_ns(const LeafTimes& times) const {
  if (times.count == 0) return 0;
  return ns({.gap_ns = times.gap_ns, .gap_cpu_ns = times.gap_cpu_ns}) / static_cast<double>(times.count);
}

double GapLoop::ns(const ExactGap& gap) const {
  if (kind_ == Gaps::none) return 0;
  return static_cast<double>(kind_ == Gaps::cpu ? gap.gap_cpu_ns : gap.gap_ns);
}

/// In pieces, after each of which the watchdog is told: a gap may be longer than its patience.
void GapLoop::pay() {
  constexpr double piece_ns = 1e9;
  while (owed_ns_ > 0) {
    const double ns = std::min(owed_ns_, piece_ns);
    kind_ == Gaps::cpu ? loop_.work(ns) : loop_.wait(ns);
    owed_ns_ -= ns;
    heartbeat();
  }
}

}  // namespace commlens::replay

// What a replay does between two calls: as long as the program took, nothing that communicates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/enum_names.hpp"
#include "benchmarks/replay/trace.hpp"

namespace commlens::replay {

/// cpu: a calibrated loop for the CPU time, wall: a loop for the wall time, none: nothing.
enum class Gaps { cpu, wall, none };
ENUM_NAMES(Gaps, {cpu, "cpu"}, {wall, "wall"}, {none, "none"});

/// Keeps this thread's core busy, and reads memory as it goes: what computes displaces what MPI has in the caches.
class BusyLoop {
 public:
  /// Measures how fast the core is, for some milliseconds.
  BusyLoop();

  /// So many nanoseconds of CPU time, however long it takes.
  void work(double ns);
  /// Until so many nanoseconds are over.
  void wait(double ns);

 private:
  static constexpr std::size_t bytes = std::size_t{4} << 20U;  ///< more than a core has in caches of its own

  void do_steps(std::uint64_t steps);

  std::vector<std::uint64_t> data_ = std::vector<std::uint64_t>(bytes / sizeof(std::uint64_t));
  std::size_t place_ = 0;
  double steps_per_ns_ = 1;
};

/// The gaps before the calls of one rank. Those that are shorter than a loop can be are saved up.
class GapLoop {
 public:
  explicit GapLoop(Gaps kind) : kind_(kind) {}

  /// Of a leaf, before each of its executions.
  [[nodiscard]] double mean_ns(const LeafTimes& times) const;
  [[nodiscard]] double ns(const ExactGap& gap) const;
  void pass(double ns) {
    owed_ns_ += ns;
    if (owed_ns_ >= shortest_ns) pay();
  }
  /// Nothing is saved up.
  void begin() { owed_ns_ = 0; }

 private:
  static constexpr double shortest_ns = 500;

  void pay();

  Gaps kind_;
  BusyLoop loop_;
  double owed_ns_ = 0;
};

}  // namespace commlens::replay

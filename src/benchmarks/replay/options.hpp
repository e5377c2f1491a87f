// The options of replay, and the trace that they name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/replay/gaps.hpp"
#include "benchmarks/replay/program.hpp"
#include "benchmarks/replay/trace.hpp"
#include "harness/memory_plan.hpp"
#include "harness/options.hpp"

namespace commlens::replay {

/// What is not replayed may be this share of the program's time in MPI, unless the user allows more.
constexpr double most_not_replayed = 0.2;

struct Options {
  std::string file;
  Gaps gaps = Gaps::cpu;
  bool allow_partial = false;
  double scale_bytes = 1;
  bool pack = false;

  void describe(OptionSet& options);
  /// Reads the trace; throws UsageError for one that these ranks cannot replay. Collective, where MPI is initialized.
  void resolve(int ranks);
  std::vector<std::string> scale_to_memory(const MemoryBudget& budget, int ranks);
  [[nodiscard]] MemoryEstimate memory_estimate(int rank, int ranks) const;

  [[nodiscard]] const Trace& trace() const { return *trace_; }
  [[nodiscard]] const Recorded& recorded() const { return *recorded_; }
  [[nodiscard]] double not_replayed() const;  ///< share of the program's time in MPI

 private:
  [[nodiscard]] std::string name() const;  ///< in records: without folders, with the checksum
  void spread(Trace& trace, int ranks) const;
  void require_whole() const;

  std::shared_ptr<const Trace> trace_;
  std::shared_ptr<const Recorded> recorded_;
  bool on_gpu_ = false;  ///< the buffers
};

}  // namespace commlens::replay

// How a solve's work is launched on a GPU: --graphs.
#pragma once

#include "harness/options.hpp"
#include "harness/run.hpp"
#include "measure/record.hpp"

namespace commlens {

struct GraphLaunches {
  bool wanted = true;

  void describe(OptionSet& options) {
    options.add_flag("graphs", "no-graphs", wanted,
                     "launch iterations as graphs where nothing in them waits on the host, or kernel by kernel");
  }
  /// Whether a solve launches graphs. `enqueues`: none of its operators and preconditioners waits on the host.
  [[nodiscard]] bool used(Run& run, bool enqueues) const {
    return wanted && run.stream().on_gpu() && enqueues && (run.ranks() == 1 || run.transport().enqueues());
  }
};

namespace solve {
inline constexpr measure::Fact launches{"launches", measure::unit::none,
                                        "of a GPU's work: iterations as graphs, or kernel by kernel"};
}  // namespace solve

inline void add_launches(Run& run, bool graphs) {
  if (run.stream().on_gpu()) run.fact(solve::launches, graphs ? "graphs" : "kernels");
}

}  // namespace commlens

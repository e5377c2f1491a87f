// The options that every solve on a spectral-element mesh has.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "benchmarks/spectral_elements/kershaw_options.hpp"
#include "benchmarks/spectral_elements/vector_checks.hpp"
#include "gather_scatter/gather_scatter.hpp"
#include "harness/options.hpp"
#include "harness/run.hpp"
#include "sem/poisson.hpp"

namespace commlens {

/// How a solve's gather-scatters work: --mode.
struct ExchangeMode {
  std::optional<gather_scatter::Method> method;  ///< none: the fastest

  void describe(OptionSet& options);
  [[nodiscard]] std::string name() const;  ///< "auto" or the method's name
  /// Throws Unsupported: `reason` is why the method cannot be used.
  [[noreturn]] void refuse(const std::string& reason) const;
};

/// A benchmark's options derive from these, and describe them in the order of its help and records.
struct SolveOptions {
  SizedMesh mesh;
  sem::Geometry geometry = sem::Geometry::trilinear;
  RightHandSide rhs = RightHandSide::nekrs;
  std::size_t iterations = 0;  ///< of a solve, at most
  double tolerance = 0;        ///< relative residual at which a solve ends
  ExchangeMode mode;
  bool overlap = true;
  bool graphs = true;
  bool on_gpu = false;  ///< set by scale_to_memory()

  /// Whether a solve launches graphs. `enqueues`: none of its operators and preconditioners waits on the host.
  [[nodiscard]] bool launches_graphs(Run& run, bool enqueues) const {
    return graphs && run.stream().on_gpu() && enqueues && (run.ranks() == 1 || run.transport().enqueues());
  }

 protected:
  void describe_mesh(OptionSet& options);
  void describe_right_hand_side(OptionSet& options);
  void describe_exchange(OptionSet& options);
};

}  // namespace commlens

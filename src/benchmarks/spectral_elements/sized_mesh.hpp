// The mesh of a solve: of a size for all ranks (--elements), or per rank and as a sweep (--edge).
#pragma once

#include "benchmarks/spectral_elements/kershaw_options.hpp"
#include "harness/memory_plan.hpp"
#include "harness/options.hpp"

namespace commlens {

struct SizedMesh {
  KershawOptions kershaw;
  Sweep edge;  ///< without values there is one case, with `kershaw`

  void describe(OptionSet& options);
  /// Throws UsageError where both sizes are given, and for fewer elements than ranks.
  void resolve(int ranks);

  [[nodiscard]] int order() const { return kershaw.shape.order; }
  /// Of a case.
  [[nodiscard]] KershawOptions of_case(int ranks) const {
    return edge.empty() ? kershaw : kershaw.with_edge(edge, ranks);
  }
  /// Of the largest case.
  [[nodiscard]] KershawOptions largest(int ranks) const;
  /// Throws UsageError where the largest case does not fit; `per_node` is what a node needs.
  void require_room(const MemoryEstimate& per_node, const MemoryBudget& budget, int ranks) const;
};

}  // namespace commlens

#include "benchmarks/spectral_elements/sized_mesh.hpp"

#include <fmt/format.h>

#include <string>

#include "base/usage_error.hpp"
#include "benchmarks/spectral_elements/node_budget.hpp"
#include "sem/numbering.hpp"

namespace commlens {

void SizedMesh::describe(OptionSet& options) {
  kershaw.describe(options);
  options
      .add("edge", edge,
           "instead of --elements: elements along each edge of a rank's cube; one or several, such as 4:32")
      .per_rank();
}

void SizedMesh::resolve(int ranks) {
  if (!edge.empty() && kershaw.given()) {
    throw UsageError("edge", std::to_string(edge.values.front()), "--elements says another size: give one of the two");
  }
  kershaw.sized_by_elements = edge.empty();
  kershaw.resolve(ranks);
}

KershawOptions SizedMesh::largest(int ranks) const {
  return edge.empty() ? kershaw : kershaw.with_edge(edge.largest(), ranks);
}

void SizedMesh::require_room(const MemoryEstimate& per_node, const MemoryBudget& budget, int ranks) const {
  commlens::require_room({.option = edge.empty() ? "elements" : "edge",
                          .value = edge.empty() ? kershaw.text() : std::to_string(edge.largest()),
                          .nodes = largest(ranks).nodes_about(ranks),
                          .per_node = per_node,
                          .limit = sem::Numbering::most_unknowns},
                         budget, [&](double possible) {
                           if (edge.empty()) return kershaw.largest_cube(possible, ranks);
                           return fmt::format("the largest is about --edge {}", kershaw.largest_edge(possible));
                         });
}

}  // namespace commlens

// The Kershaw mesh as the options of a benchmark, and whether one of their size fits into memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "harness/memory_plan.hpp"
#include "harness/options.hpp"
#include "sem/mesh.hpp"
#include "sem/partition.hpp"

namespace commlens {

/// --elements, --order and --kershaw-eps.
struct KershawOptions {
  sem::Shape shape{.elements = {0, 0, 0}};  ///< zeros: chosen by resolve()
  bool in_use = true;                       ///< otherwise the record does not show the options
  bool sized_by_elements = true;            ///< otherwise another option gives the size

  void describe(OptionSet& options);
  /// 20^3 elements per rank where none are given. Throws UsageError for fewer elements than ranks.
  void resolve(int ranks);

  /// The same mesh with `edge`^3 elements per rank.
  [[nodiscard]] KershawOptions with_edge(std::size_t edge, int ranks) const;

  [[nodiscard]] bool given() const { return shape.elements[0] > 0; }  ///< --elements; before resolve()
  [[nodiscard]] sem::Partition partition(int ranks) const { return {shape.elements, ranks}; }
  [[nodiscard]] sem::Mesh mesh(int rank, int ranks) const { return {shape, partition(ranks), rank}; }
  [[nodiscard]] std::string text() const;  ///< "40x40x40"
  /// On the rank with the most, about: in floating point, for a request beyond any machine.
  [[nodiscard]] double nodes_about(int ranks) const;
  /// "the largest cube of order 7 is about --elements 93", where no rank can have more than so many nodes.
  [[nodiscard]] std::string largest_cube(double nodes_per_rank, int ranks) const;
  /// Elements along an edge of the largest cube that a rank can have.
  [[nodiscard]] std::size_t largest_edge(double nodes_per_rank) const;
};

/// Before anything is counted node by node: a mesh beyond any machine must not be made, and its counts would overflow.
struct NodeRequest {
  std::string option;       ///< that asks for the nodes
  std::string value;        ///< of the option
  double nodes = 0;         ///< per rank, about
  MemoryEstimate per_node;  ///< `staging` is the host memory of the set-up
  double limit = 0;         ///< nodes per rank that can be numbered
};

/// Throws UsageError where the nodes do not fit or cannot be numbered. `fix` says what to ask for instead, from the
/// number of nodes per rank that are possible.
void require_room(const NodeRequest& request, const MemoryBudget& budget,
                  const std::function<std::string(double nodes)>& fix);

/// The mesh of a solve: of a size for all ranks (--elements), or per rank and as a sweep (--edge).
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

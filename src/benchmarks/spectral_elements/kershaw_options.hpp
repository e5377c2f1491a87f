// The Kershaw mesh as the options of a benchmark: --elements, --order and --kershaw-eps.
#pragma once

#include <cstddef>
#include <string>

#include "harness/options.hpp"
#include "sem/mesh.hpp"
#include "sem/partition.hpp"

namespace commlens {

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

}  // namespace commlens

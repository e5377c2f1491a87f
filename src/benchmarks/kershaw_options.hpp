// The Kershaw mesh as the options of a benchmark say it: --elements, --order and --kershaw-eps.
#pragma once

#include <string>

#include "harness/options.hpp"
#include "sem/mesh.hpp"
#include "sem/partition.hpp"

namespace commlens {

struct KershawOptions {
  sem::Shape shape{.elements = {0, 0, 0}};  ///< zeros: chosen by settle()
  bool in_use = true;                       ///< otherwise the record does not show them
  bool fixed_size = true;                   ///< otherwise it does not show --elements

  void describe(OptionSet& options);
  /// 20^3 elements a rank where none are given. Throws UsageError for fewer elements than ranks.
  void settle(int ranks);

  /// The same mesh of `edge`^3 elements a rank.
  [[nodiscard]] KershawOptions with_edge(std::size_t edge, int ranks) const;

  [[nodiscard]] bool given() const { return shape.elements[0] > 0; }  ///< --elements; before settle()
  [[nodiscard]] sem::Partition partition(int ranks) const { return {shape.elements, ranks}; }
  [[nodiscard]] std::string text() const;  ///< "40x40x40"
  /// On the rank that has most of them, about: in floating point, for a request beyond any machine.
  [[nodiscard]] double nodes_about(int ranks) const;
  /// "the largest cube of order 7 is about --elements 93", where no rank can have more than so many nodes.
  [[nodiscard]] std::string largest_cube(double nodes_a_rank, int ranks) const;
  /// Along an edge, of the largest cube that a rank can have.
  [[nodiscard]] std::size_t largest_edge(double nodes_a_rank) const;
};

}  // namespace commlens

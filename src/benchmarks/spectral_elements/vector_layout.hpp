// Where the unknowns of a rank's nodes are in its vectors.
#pragma once

#include <cstddef>
#include <vector>

#include "sem/mesh.hpp"
#include "sem/numbering.hpp"
#include "sem/poisson.hpp"

namespace commlens {

/// What it refers to must outlive it.
struct VectorLayout {
  const sem::Mesh& mesh;
  const sem::Numbering& numbering;
  sem::Storage storage;

  [[nodiscard]] std::size_t length() const {
    return storage == sem::Storage::element ? mesh.nodes() : numbering.unknowns;
  }
  [[nodiscard]] bool is_unknown(std::size_t node) const { return numbering.of_node[node] != sem::Numbering::fixed; }
  /// Of a node that is an unknown.
  [[nodiscard]] std::size_t place(std::size_t node) const {
    return storage == sem::Storage::element ? node : numbering.of_node[node] & ~sem::Numbering::by_several;
  }
  /// The vector of values given by node: without those on the boundary of the domain, and with unique storage added up
  /// by unknown.
  [[nodiscard]] std::vector<double> from_nodes(const std::vector<double>& nodal) const {
    std::vector<double> vector(length());
    for (std::size_t node = 0; node < nodal.size(); ++node) {
      if (is_unknown(node)) vector[place(node)] += nodal[node];
    }
    return vector;
  }
};

}  // namespace commlens

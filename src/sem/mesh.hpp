// The Kershaw mesh of the CEED bake-off: a box of trilinear hexahedra, in layers along x that are deformed differently
// (Kolev et al., CEED milestone report MS36; Kershaw, J. Comput. Phys. 39, 1981). It is computed, not read from a file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sem/gll.hpp"
#include "sem/partition.hpp"
#include "transport/communicator.hpp"

namespace commlens::sem {

using Point = std::array<double, 3>;

struct Shape {
  Extents elements{20, 20, 20};
  int order = 7;
  double eps = 0.3;  ///< 1: no deformation; the closer to 0, the stronger it is
};

/// Maps a point of the unit cube into [-1/2, 1/2]^3.
Point kershaw(const Point& point, double eps);

/// Vertex (i, j, k) of an element has index i + 2 j + 4 k.
using Vertices = std::array<Point, 8>;

/// The trilinear map of the element, at a point of the reference element [-1, 1]^3.
Point interpolate(const Vertices& vertices, const Point& point);
double jacobian(const Vertices& vertices, const Point& point);  ///< its determinant

/// Of any element of the whole mesh, by its coordinates in the box of all elements.
Vertices vertices_of(const Shape& shape, const Extents& place);

/// The global id of a node, by its coordinates in the lattice of all nodes; from 1.
inline std::int64_t id_of(const Shape& shape, const Extents& node) {
  const auto order = static_cast<std::size_t>(shape.order);
  const std::size_t row = shape.elements[0] * order + 1;
  const std::size_t plane = row * (shape.elements[1] * order + 1);
  return static_cast<std::int64_t>(1 + node[0] + row * node[1] + plane * node[2]);
}

/// One rank's elements. Those that touch another rank's elements come first. Node (i, j, k) of an element has index
/// i + (order + 1) (j + (order + 1) k).
class Mesh {
 public:
  Mesh(const Shape& shape, const Partition& partition, int rank);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const Gll& gll() const { return gll_; }
  [[nodiscard]] std::size_t elements() const { return elements_.size(); }
  [[nodiscard]] std::size_t boundary_elements() const { return boundary_elements_; }  ///< that touch another rank's
  [[nodiscard]] std::size_t nodes_per_element() const {
    return gll_.points.size() * gll_.points.size() * gll_.points.size();
  }
  [[nodiscard]] std::size_t nodes() const { return elements() * nodes_per_element(); }

  /// Its global coordinates in the box of all elements.
  [[nodiscard]] const Extents& place(std::size_t element) const { return elements_.at(element); }
  [[nodiscard]] Vertices vertices(std::size_t element) const { return vertices_of(shape_, place(element)); }
  /// The global id of every node, from 1; element by element.
  [[nodiscard]] std::vector<std::int64_t> ids() const;
  /// For every node: 1 if it lies on the boundary of the domain, else 0.
  [[nodiscard]] std::vector<unsigned char> on_boundary() const;
  /// Coordinates of every node. They have the same bits for all nodes with one id.
  [[nodiscard]] std::vector<Point> points() const;

  [[nodiscard]] std::int64_t unique_nodes() const;        ///< of all ranks
  [[nodiscard]] std::int64_t degrees_of_freedom() const;  ///< of all ranks, without the boundary of the domain

 private:
  template <class Visit>
  void for_each_node(Visit visit) const;

  Shape shape_;
  Gll gll_;
  std::vector<Extents> elements_;
  std::size_t boundary_elements_ = 0;
};

/// What nekRS prints about a mesh, over all ranks.
struct MeshProperties {
  transport::Spread elements;  ///< per rank
  std::int64_t total_nodes = 0;
  std::int64_t unique_nodes = 0;
  std::int64_t degrees_of_freedom = 0;
  transport::Spread scaled_jacobian;  ///< per element: the minimum over its GLL points divided by the maximum
  transport::Spread aspect_ratio;     ///< per element: the longest edge divided by the shortest
  transport::Spread spacing;          ///< between adjacent GLL points; without an average
};

MeshProperties properties_of(const Mesh& mesh, const transport::Communicator& communicator);  ///< collective
std::vector<std::string> lines(const MeshProperties& properties);                             ///< in nekRS's format

}  // namespace commlens::sem

// The Kershaw mesh of the CEED bake-off: a box of trilinear hexahedra whose layers in x are deformed (Kolev et al.,
// CEED milestone report MS36; Kershaw, J. Comput. Phys. 39, 1981). Nothing is read: it is computed.
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
  double eps = 0.3;  ///< 1: not deformed; towards 0: ever more
};

/// Where the point of the unit cube goes: into [-1/2, 1/2]^3.
Point kershaw(const Point& point, double eps);

/// Of an element, vertex i + 2 j + 4 k.
using Vertices = std::array<Point, 8>;

/// The place of the reference element's point, which lies in [-1, 1]^3, and how much larger a volume is there than in
/// the reference element.
Point interpolate(const Vertices& vertices, const Point& point);
double jacobian(const Vertices& vertices, const Point& point);

/// One rank's elements. Those that touch another rank's come first. Node (i, j, k) of an element is its node
/// i + (order + 1) (j + (order + 1) k).
class Mesh {
 public:
  Mesh(const Shape& shape, const Partition& partition, int rank);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const Gll& gll() const { return gll_; }
  [[nodiscard]] std::size_t elements() const { return elements_.size(); }
  [[nodiscard]] std::size_t boundary_elements() const { return boundary_elements_; }  ///< that touch another rank's
  [[nodiscard]] std::size_t nodes_per_element() const;
  [[nodiscard]] std::size_t nodes() const { return elements() * nodes_per_element(); }

  /// Where the element is in the box of all elements.
  [[nodiscard]] const Extents& place(std::size_t element) const { return elements_.at(element); }
  [[nodiscard]] Vertices vertices(std::size_t element) const;
  /// Of every node, from 1, the same on all ranks; in the order of elements.
  [[nodiscard]] std::vector<std::int64_t> ids() const;
  /// Of every node: 1 where it lies on the boundary of the domain.
  [[nodiscard]] std::vector<unsigned char> on_boundary() const;
  /// Of every node: interpolated between the vertices of its element. Nodes with one id have the same bits.
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

struct Range {
  double least = 0;
  double largest = 0;
  double average = 0;
};

/// What nekRS prints of a mesh, of all ranks.
struct Metrics {
  Range elements;  ///< a rank
  std::int64_t total_nodes = 0;
  std::int64_t unique_nodes = 0;
  std::int64_t degrees_of_freedom = 0;
  Range scaled_jacobian;  ///< of an element: the least of its GLL points over the largest
  Range aspect_ratio;     ///< of an element: its longest edge over its shortest
  Range spacing;          ///< between neighbouring GLL points; no average
};

Metrics metrics(const Mesh& mesh, const transport::Communicator& communicator);  ///< collective
std::vector<std::string> lines(const Metrics& metrics);                          ///< as a user reads them

}  // namespace commlens::sem

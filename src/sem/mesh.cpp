#include "sem/mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace commlens::sem {

namespace {

// ---- the deformation, with the names that MS36 uses ----

double right(double eps, double t) { return t <= 0.5 ? (2 - eps) * t : 1 + eps * (t - 1); }
double left(double eps, double t) { return 1 - right(eps, 1 - t); }
double step(double a, double b, double t) { return a + (b - a) * std::clamp(t, 0.0, 1.0); }

double deformed(double x, double t, double eps) {
  const double layer = std::floor(6 * x);
  const double lambda = 6 * x - layer;
  switch (static_cast<int>(layer)) {
    case 0:
      return left(eps, t);
    case 1:
    case 4:
      return step(left(eps, t), right(eps, t), lambda);
    case 2:
      return step(right(eps, t), left(eps, t), lambda / 2);
    case 3:
      return step(right(eps, t), left(eps, t), (1 + lambda) / 2);
    default:
      return right(eps, t);
  }
}

// ---- trilinear elements ----

Point operator-(const Point& a, const Point& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

double length(const Point& vector) { return std::hypot(vector[0], vector[1], vector[2]); }

/// Interpolates between a (at -1) and b (at 1); exactly a and b at the ends.
Point between(const Point& a, const Point& b, double r) {
  const double of_a = (1 - r) / 2;
  const double of_b = (1 + r) / 2;
  return {of_a * a[0] + of_b * b[0], of_a * a[1] + of_b * b[1], of_a * a[2] + of_b * b[2]};
}

double determinant(const Point& a, const Point& b, const Point& c) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

/// The index of an element's corner has one bit per axis.
constexpr std::size_t corners = 8;
constexpr std::size_t bit(std::size_t axis) { return std::size_t{1} << axis; }

/// Over the 12 edges.
double aspect_ratio(const Vertices& vertices) {
  double shortest = std::numeric_limits<double>::max();
  double longest = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (std::size_t corner = 0; corner < corners; ++corner) {
      if ((corner & bit(axis)) != 0) continue;
      const double edge = length(vertices.at(corner | bit(axis)) - vertices.at(corner));
      shortest = std::min(shortest, edge);
      longest = std::max(longest, edge);
    }
  }
  return longest / shortest;
}

// ---- properties ----

/// The spread of values of which a rank may have any number.
struct Accumulator {
  double minimum = std::numeric_limits<double>::max();
  double maximum = std::numeric_limits<double>::lowest();
  double sum = 0;

  void add(double value) {
    minimum = std::min(minimum, value);
    maximum = std::max(maximum, value);
    sum += value;
  }
  /// `count` values on all ranks together.
  [[nodiscard]] transport::Spread over(const transport::Communicator& communicator, double count) const {
    std::vector<double> extremes{-minimum, maximum};
    communicator.maximum(extremes);
    return {.minimum = -extremes[0], .maximum = extremes[1], .average = communicator.sum_of_reals(sum) / count};
  }
};

/// Of this rank's elements.
struct Quality {
  Accumulator scaled_jacobian;
  Accumulator aspect_ratio;
  Accumulator spacing;

  void add(const Vertices& vertices, const std::vector<double>& gll_points) {
    const std::size_t count = gll_points.size();
    std::vector<Point> points;
    Accumulator jacobians;
    for (const double t : gll_points) {
      for (const double s : gll_points) {
        for (const double r : gll_points) {
          points.push_back(interpolate(vertices, {r, s, t}));
          jacobians.add(jacobian(vertices, {r, s, t}));
        }
      }
    }
    const std::array<std::size_t, 3> strides{1, count, count * count};
    for (std::size_t node = 0; node < points.size(); ++node) {
      for (const std::size_t stride : strides) {
        if (node / stride % count + 1 < count) spacing.add(length(points[node + stride] - points[node]));
      }
    }
    scaled_jacobian.add(jacobians.minimum / jacobians.maximum);
    aspect_ratio.add(sem::aspect_ratio(vertices));
  }
};

/// Of the box of all elements, without its outermost `layers` of nodes.
std::int64_t distinct_nodes(const Shape& shape, std::int64_t layers) {
  std::int64_t product = 1;
  for (const std::size_t elements : shape.elements) {
    product *= static_cast<std::int64_t>(elements) * shape.order + 1 - 2 * layers;
  }
  return product;
}

}  // namespace

Point kershaw(const Point& point, double eps) {
  const auto [x, y, z] = point;
  return {x - 0.5, deformed(x, y, eps) - 0.5, deformed(x, z, eps) - 0.5};
}

Point interpolate(const Vertices& v, const Point& point) {
  const auto [r, s, t] = point;
  return between(between(between(v[0], v[1], r), between(v[2], v[3], r), s),
                 between(between(v[4], v[5], r), between(v[6], v[7], r), s), t);
}

double jacobian(const Vertices& v, const Point& point) {
  const auto [r, s, t] = point;
  const Point along_r = between(between(v[1] - v[0], v[3] - v[2], s), between(v[5] - v[4], v[7] - v[6], s), t);
  const Point along_s = between(between(v[2] - v[0], v[3] - v[1], r), between(v[6] - v[4], v[7] - v[5], r), t);
  const Point along_t = between(between(v[4] - v[0], v[5] - v[1], r), between(v[6] - v[2], v[7] - v[3], r), s);
  return determinant(along_r, along_s, along_t) / 8;  // the reference element's edges are 2 long
}

Mesh::Mesh(const Shape& shape, const Partition& partition, int rank) : shape_(shape), gll_(sem::gll(shape.order)) {
  const auto [x, y, z] = partition.block(rank);
  elements_.reserve(partition.count(rank));
  for (std::size_t k = z[0]; k < z[1]; ++k) {
    for (std::size_t j = y[0]; j < y[1]; ++j) {
      for (std::size_t i = x[0]; i < x[1]; ++i) elements_.push_back({i, j, k});
    }
  }
  const auto interior = std::stable_partition(elements_.begin(), elements_.end(), [&](const Extents& element) {
    return partition.touches_others(rank, element);
  });
  boundary_elements_ = static_cast<std::size_t>(interior - elements_.begin());
}

/// A vertex has the same bits in all elements that have it.
Vertices vertices_of(const Shape& shape, const Extents& place) {
  const auto coordinate = [&](std::size_t axis, std::size_t corner) {
    return static_cast<double>(place.at(axis) + (corner >> axis & 1)) / static_cast<double>(shape.elements.at(axis));
  };
  Vertices vertices;
  for (std::size_t corner = 0; corner < corners; ++corner) {
    vertices.at(corner) = kershaw({coordinate(0, corner), coordinate(1, corner), coordinate(2, corner)}, shape.eps);
  }
  return vertices;
}

/// Calls visit(node, place), where `place` are the global coordinates of the node in the lattice of all nodes.
template <class Visit>
void Mesh::for_each_node(Visit visit) const {
  const auto order = static_cast<std::size_t>(shape_.order);
  std::size_t node = 0;
  for (const auto& [x, y, z] : elements_) {
    for (std::size_t k = 0; k <= order; ++k) {
      for (std::size_t j = 0; j <= order; ++j) {
        for (std::size_t i = 0; i <= order; ++i) visit(node++, Extents{x * order + i, y * order + j, z * order + k});
      }
    }
  }
}

std::vector<std::int64_t> Mesh::ids() const {
  std::vector<std::int64_t> ids(nodes());
  for_each_node([&](std::size_t node, const Extents& place) { ids[node] = id_of(shape_, place); });
  return ids;
}

std::vector<unsigned char> Mesh::on_boundary() const {
  const auto order = static_cast<std::size_t>(shape_.order);
  std::vector<unsigned char> on_boundary(nodes());
  for_each_node([&](std::size_t node, const Extents& place) {
    bool at_end = false;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      at_end = at_end || place[axis] == 0 || place[axis] == shape_.elements[axis] * order;
    }
    on_boundary[node] = at_end ? 1 : 0;
  });
  return on_boundary;
}

std::vector<Point> Mesh::points() const {
  std::vector<Point> points;
  points.reserve(nodes());
  for (std::size_t element = 0; element < elements(); ++element) {
    const Vertices corners_of_element = vertices(element);
    for (const double t : gll_.points) {
      for (const double s : gll_.points) {
        for (const double r : gll_.points) points.push_back(interpolate(corners_of_element, {r, s, t}));
      }
    }
  }
  return points;
}

std::int64_t Mesh::unique_nodes() const { return distinct_nodes(shape_, 0); }
std::int64_t Mesh::degrees_of_freedom() const { return distinct_nodes(shape_, 1); }

MeshProperties properties_of(const Mesh& mesh, const transport::Communicator& communicator) {
  Quality quality;
  for (std::size_t element = 0; element < mesh.elements(); ++element) {
    quality.add(mesh.vertices(element), mesh.gll().points);
  }
  const auto all = static_cast<double>(communicator.sum(static_cast<std::int64_t>(mesh.elements())));
  return {.elements = transport::spread(static_cast<double>(mesh.elements()), communicator),
          .total_nodes = communicator.sum(static_cast<std::int64_t>(mesh.nodes())),
          .unique_nodes = mesh.unique_nodes(),
          .degrees_of_freedom = mesh.degrees_of_freedom(),
          .scaled_jacobian = quality.scaled_jacobian.over(communicator, all),
          .aspect_ratio = quality.aspect_ratio.over(communicator, all),
          .spacing = quality.spacing.over(communicator, all)};
}

std::vector<std::string> lines(const MeshProperties& properties) {
  const auto range = [](const transport::Spread& of) {
    return fmt::format("{:.3e} {:.3e} {:.3e}", of.minimum, of.maximum, of.average);
  };
  const auto& elements = properties.elements;
  return {
      fmt::format(" nElements   max/min/bal: {} {} {:.2f}", elements.maximum, elements.minimum,
                  elements.maximum / elements.average),
      fmt::format("grid points      unique/total: {} {}", properties.unique_nodes, properties.total_nodes),
      fmt::format("degrees of freedom           : {}", properties.degrees_of_freedom),
      fmt::format("scaled Jacobian  min/max/avg: {}", range(properties.scaled_jacobian)),
      fmt::format("aspect ratio     min/max/avg: {}", range(properties.aspect_ratio)),
      fmt::format("GLL grid spacing min/max    : {:.3e} {:.3e}", properties.spacing.minimum,
                  properties.spacing.maximum),
  };
}

}  // namespace commlens::sem

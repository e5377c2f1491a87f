#include "benchmarks/spectral_elements/vector_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>

#include "device/upload.hpp"
#include "sem/trilinear.hpp"

namespace commlens {

namespace {

constexpr double pi = std::numbers::pi;

double sines_at(const sem::Point& point) {
  return std::sin(pi * point[0]) * std::sin(pi * point[1]) * std::sin(pi * point[2]);
}

/// At node (i, j, k) of an element.
double value_at_node(const sem::Gll& gll, const sem::Trilinear& map, const std::array<std::size_t, 3>& node,
                     RightHandSide kind) {
  const auto& [i, j, k] = node;
  const double r = gll.points[i];
  const double s = gll.points[j];
  const double t = gll.points[k];
  const sem::Point point{sem::position(map, 0, r, s, t), sem::position(map, 1, r, s, t),
                         sem::position(map, 2, r, s, t)};
  if (kind == RightHandSide::nekrs) return 3 * pi * pi * sines_at(point);
  const double mass = gll.weights[i] * gll.weights[j] * gll.weights[k] * sem::ColumnOfMap(map, r, s).at(t).jacobian;
  return mass * 3 * pi * pi * manufactured_solution(point);
}

/// The operator on one element, with everything written out: metric terms from differentiated coordinates, sums over
/// all nodes and no shortcut.
class Element {
 public:
  Element(const sem::Gll& gll, const sem::Vertices& vertices)
      : gll_(gll), n_(gll.points.size()), map_(sem::trilinear(vertices)) {}

  /// A u of the element, not combined with others.
  [[nodiscard]] std::vector<double> apply(const std::vector<double>& u) const {
    const Field coordinates{position(0), position(1), position(2)};
    Field flux;
    flux.fill(std::vector<double>(u.size()));
    for (std::size_t node = 0; node < u.size(); ++node) {
      const auto at_node = flux_at(node, u, coordinates);
      for (std::size_t a = 0; a < 3; ++a) flux[a][node] = at_node[a];
    }
    return divergence(flux);
  }

 private:
  using Field = std::array<std::vector<double>, 3>;  ///< by axis, and by node
  using Matrix = std::array<std::array<double, 3>, 3>;

  /// w J (grad r_a . grad u), for each direction a.
  [[nodiscard]] std::array<double, 3> flux_at(std::size_t node, const std::vector<double>& u,
                                              const Field& coordinates) const {
    Matrix jacobian;  // dx_axis / dr_direction
    std::array<double, 3> derivative;
    for (std::size_t direction = 0; direction < 3; ++direction) {
      derivative[direction] = derive(u, node, direction);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        jacobian[axis][direction] = derive(coordinates[axis], node, direction);
      }
    }
    const auto [inverse, determinant] = invert(jacobian);
    std::array<double, 3> gradient{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      for (std::size_t a = 0; a < 3; ++a) gradient[axis] += inverse[a][axis] * derivative[a];
    }
    std::array<double, 3> flux{};
    for (std::size_t a = 0; a < 3; ++a) {
      for (std::size_t axis = 0; axis < 3; ++axis) flux[a] += inverse[a][axis] * gradient[axis];
      flux[a] *= weight(node) * determinant;
    }
    return flux;
  }

  [[nodiscard]] std::array<std::size_t, 3> place(std::size_t node) const {
    return {node % n_, node / n_ % n_, node / (n_ * n_)};
  }
  [[nodiscard]] std::size_t stride(std::size_t direction) const {
    return direction == 0 ? 1 : direction == 1 ? n_ : n_ * n_;
  }
  [[nodiscard]] double weight(std::size_t node) const {
    const auto [i, j, k] = place(node);
    return gll_.weights[i] * gll_.weights[j] * gll_.weights[k];
  }
  [[nodiscard]] std::vector<double> position(int axis) const {
    std::vector<double> x(n_ * n_ * n_);
    for (std::size_t node = 0; node < x.size(); ++node) {
      const auto [i, j, k] = place(node);
      x[node] = sem::position(map_, axis, gll_.points[i], gll_.points[j], gll_.points[k]);
    }
    return x;
  }
  [[nodiscard]] double derive(const std::vector<double>& u, std::size_t node, std::size_t direction) const {
    const std::size_t at = place(node)[direction];
    const std::size_t first = node - at * stride(direction);
    double sum = 0;
    for (std::size_t m = 0; m < n_; ++m) sum += gll_.derivative[at * n_ + m] * u[first + m * stride(direction)];
    return sum;
  }
  [[nodiscard]] std::vector<double> divergence(const Field& flux) const {
    std::vector<double> result(flux[0].size());
    for (std::size_t node = 0; node < result.size(); ++node) {
      for (std::size_t direction = 0; direction < 3; ++direction) {
        const std::size_t at = place(node)[direction];
        const std::size_t first = node - at * stride(direction);
        for (std::size_t m = 0; m < n_; ++m) {
          result[node] += gll_.derivative[m * n_ + at] * flux[direction][first + m * stride(direction)];
        }
      }
    }
    return result;
  }

  static std::pair<Matrix, double> invert(const Matrix& a) {
    Matrix inverse;
    const auto minor = [&](std::size_t row, std::size_t column) {
      const std::size_t r1 = (row + 1) % 3;
      const std::size_t r2 = (row + 2) % 3;
      const std::size_t c1 = (column + 1) % 3;
      const std::size_t c2 = (column + 2) % 3;
      return a[r1][c1] * a[r2][c2] - a[r1][c2] * a[r2][c1];
    };
    const double determinant = a[0][0] * minor(0, 0) + a[0][1] * minor(0, 1) + a[0][2] * minor(0, 2);
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t column = 0; column < 3; ++column) inverse[column][row] = minor(row, column) / determinant;
    }
    return {inverse, determinant};
  }

  const sem::Gll& gll_;
  std::size_t n_;
  sem::Trilinear map_;
};

/// By node: how many elements of all ranks have it, from its place in the lattice; 0 on the boundary of the domain.
std::vector<double> multiplicities(const sem::Mesh& mesh) {
  const auto ids = mesh.ids();
  const auto order = static_cast<std::int64_t>(mesh.shape().order);
  std::array<std::int64_t, 3> last{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    last[axis] = static_cast<std::int64_t>(mesh.shape().elements[axis]) * order;
  }
  std::vector<double> result(ids.size());
  for (std::size_t node = 0; node < ids.size(); ++node) {
    std::int64_t rest = ids[node] - 1;
    double product = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t at = rest % (last[axis] + 1);
      rest /= last[axis] + 1;
      product *= at == 0 || at == last[axis] ? 0 : at % order == 0 ? 2 : 1;
    }
    result[node] = product;
  }
  return result;
}

/// By node of the element; 0 for what is no unknown.
std::vector<double> values_of_element(const std::vector<double>& x, std::size_t element, const VectorLayout& layout) {
  std::vector<double> values(layout.mesh.nodes_per_element());
  for (std::size_t node = 0; node < values.size(); ++node) {
    const std::size_t at = element * values.size() + node;
    values[node] = layout.is_unknown(at) ? x[layout.place(at)] : 0.0;
  }
  return values;
}

/// Elsewhere, neighbors contribute.
bool is_inside(std::size_t node, std::size_t n) {
  const std::array<std::size_t, 3> at{node % n, node / n % n, node / (n * n)};
  return std::all_of(at.begin(), at.end(), [&](std::size_t i) { return i > 0 && i + 1 < n; });
}

std::string wrong_in_element(std::size_t element, const std::vector<double>& x, const std::vector<double>& image,
                             const VectorLayout& layout, double tolerance) {
  const sem::Mesh& mesh = layout.mesh;
  const auto expected = Element(mesh.gll(), mesh.vertices(element)).apply(values_of_element(x, element, layout));
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t node = 0; node < expected.size(); ++node) {
    if (!is_inside(node, mesh.gll().points.size())) continue;
    const double value = image[layout.place(element * expected.size() + node)];
    if (std::abs(value - expected[node]) <= tolerance * largest) continue;
    return fmt::format("A x is {:.17g} at node {} of element {}, expected {:.17g}", value, node, element,
                       expected[node]);
  }
  return {};
}

/// On this rank.
double error_of(const std::vector<double>& x, const VectorLayout& layout) {
  const auto points = layout.mesh.points();
  double largest = 0;
  for (std::size_t node = 0; node < points.size(); ++node) {
    if (!layout.is_unknown(node)) continue;
    largest = std::max(largest, std::abs(x[layout.place(node)] - manufactured_solution(points[node])));
  }
  return largest;
}

/// The first element, the last, and some between.
std::string wrong_element(const std::vector<double>& x, const std::vector<double>& image, const VectorLayout& layout,
                          double tolerance) {
  constexpr std::size_t most = 12;
  const std::size_t elements = layout.mesh.elements();
  const std::size_t samples = std::min(most, elements);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const std::size_t element = sample * (elements - 1) / std::max<std::size_t>(1, samples - 1);
    if (std::string error = wrong_in_element(element, x, image, layout, tolerance); !error.empty()) return error;
  }
  return {};
}

}  // namespace

double manufactured_solution(const sem::Point& point) {
  return std::cos(pi * point[0]) * std::cos(pi * point[1]) * std::cos(pi * point[2]);
}

std::vector<double> right_hand_side(const sem::Mesh& mesh, RightHandSide kind) {
  const sem::Gll& gll = mesh.gll();
  const std::size_t n = gll.points.size();
  std::vector<double> values;
  values.reserve(mesh.nodes());
  for (std::size_t element = 0; element < mesh.elements(); ++element) {
    const sem::Trilinear map = sem::trilinear(mesh.vertices(element));
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < n; ++i) values.push_back(value_at_node(gll, map, {i, j, k}, kind));
      }
    }
  }
  return values;
}

std::string wrong_multiplicity(const std::vector<double>& counts, const VectorLayout& layout) {
  const auto expected = multiplicities(layout.mesh);
  for (std::size_t node = 0; node < expected.size(); ++node) {
    if (!layout.is_unknown(node)) continue;
    const double value = counts[layout.place(node)];
    if (value == expected[node]) continue;
    return fmt::format("the gather-scatter of ones gives {:.17g} at node {}, which {:.17g} elements have", value, node,
                       expected[node]);
  }
  return {};
}

Inspection inspect(const double* x, const double* image, const VectorLayout& layout, device::Stream& stream,
                   const transport::Communicator& communicator) {
  constexpr double rounding = 1e-10;
  const auto solution = device::download(x, layout.length(), stream);
  const auto product = device::download(image, layout.length(), stream);
  return {.error = wrong_element(solution, product, layout, rounding),
          .largest_error = communicator.maximum(error_of(solution, layout))};
}

}  // namespace commlens

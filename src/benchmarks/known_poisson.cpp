#include "benchmarks/known_poisson.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "device/launch.hpp"
#include "sem/trilinear.hpp"

namespace commlens::known_poisson {

namespace {

using sem::Mesh;
using sem::Numbering;
using sem::Storage;

constexpr double pi = std::numbers::pi;

/// Calls function(element, i, j, k, node) for every node of the rank.
template <class Function>
void for_each_node(const Mesh& mesh, Function function) {
  const auto n = static_cast<std::size_t>(mesh.shape().order) + 1;
  std::size_t node = 0;
  for (std::size_t element = 0; element < mesh.elements(); ++element) {
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < n; ++i) function(element, i, j, k, node++);
      }
    }
  }
}

double solution_at(const sem::Point& point) {
  return std::cos(pi * point[0]) * std::cos(pi * point[1]) * std::cos(pi * point[2]);
}

double sines_at(const sem::Point& point) {
  return std::sin(pi * point[0]) * std::sin(pi * point[1]) * std::sin(pi * point[2]);
}

/// The place of a node in a vector; none for what is no unknown there.
std::size_t place_of(std::size_t node, const Numbering& numbering, Storage storage) {
  if (storage == Storage::element) return node;
  return numbering.of_node[node] & ~Numbering::by_several;
}

bool is_unknown(std::size_t node, const Numbering& numbering) { return numbering.of_node[node] != Numbering::fixed; }

std::string text(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  return digits;
}

/// One element, with everything written out.
class Element {
 public:
  Element(const sem::Gll& gll, const std::array<sem::Point, 8>& vertices)
      : gll_(gll), n_(gll.points.size()), map_(sem::trilinear(vertices)) {}

  /// A u of the element.
  [[nodiscard]] std::vector<double> apply(const std::vector<double>& u) const {
    std::array<std::vector<double>, 3> coordinates;
    for (std::size_t axis = 0; axis < 3; ++axis) coordinates[axis] = position(static_cast<int>(axis));
    std::array<std::vector<double>, 3> flux;
    flux.fill(std::vector<double>(u.size()));
    for (std::size_t node = 0; node < u.size(); ++node) {
      std::array<std::array<double, 3>, 3> jacobian;  // dx_axis / dr_direction
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
      for (std::size_t a = 0; a < 3; ++a) {
        double sum = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) sum += inverse[a][axis] * gradient[axis];
        flux[a][node] = weight(node) * determinant * sum;
      }
    }
    return divergence(flux);
  }

 private:
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
  [[nodiscard]] std::vector<double> divergence(const std::array<std::vector<double>, 3>& flux) const {
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
  using Matrix = std::array<std::array<double, 3>, 3>;
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

}  // namespace

std::vector<double> right_hand_side(const Mesh& mesh, RightHandSide kind) {
  const sem::Gll gll = sem::gll(mesh.shape().order);
  std::vector<double> values(mesh.nodes());
  sem::Trilinear map{};
  for_each_node(mesh, [&](std::size_t element, std::size_t i, std::size_t j, std::size_t k, std::size_t node) {
    if (i + j + k == 0) map = sem::trilinear(mesh.vertices(element));
    const auto [r, s, t] = std::array{gll.points[i], gll.points[j], gll.points[k]};
    const sem::Point point{sem::position(map, 0, r, s, t), sem::position(map, 1, r, s, t),
                           sem::position(map, 2, r, s, t)};
    if (kind == RightHandSide::nekrs) {
      values[node] = 3 * pi * pi * sines_at(point);
    } else {
      const double mass = gll.weights[i] * gll.weights[j] * gll.weights[k] * sem::ColumnOfMap(map, r, s).at(t).jacobian;
      values[node] = mass * 3 * pi * pi * solution_at(point);
    }
  });
  return values;
}

std::vector<double> multiplicities(const Mesh& mesh) {
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

std::vector<double> to_vector(const std::vector<double>& nodal, const Mesh& mesh, const Numbering& numbering,
                              Storage storage) {
  std::vector<double> vector(storage == Storage::element ? mesh.nodes() : numbering.unknowns);
  for (std::size_t node = 0; node < nodal.size(); ++node) {
    if (is_unknown(node, numbering)) vector[place_of(node, numbering, storage)] += nodal[node];
  }
  return vector;
}

std::string wrong_multiplicity(const std::vector<double>& found, const Mesh& mesh, const Numbering& numbering,
                               Storage storage) {
  const auto expected = multiplicities(mesh);
  for (std::size_t node = 0; node < expected.size(); ++node) {
    if (!is_unknown(node, numbering)) continue;
    const double value = found[place_of(node, numbering, storage)];
    if (value == expected[node]) continue;
    return "the gather-scatter of ones gives " + text(value) + " at node " + std::to_string(node) + ", which " +
           text(expected[node]) + " elements have";
  }
  return {};
}

double error_of(const std::vector<double>& x, const Mesh& mesh, const Numbering& numbering, Storage storage) {
  const auto points = mesh.points();
  double largest = 0;
  for (std::size_t node = 0; node < points.size(); ++node) {
    if (!is_unknown(node, numbering)) continue;
    largest = std::max(largest, std::abs(x[place_of(node, numbering, storage)] - solution_at(points[node])));
  }
  return largest;
}

std::string wrong_element(const std::vector<double>& x, const std::vector<double>& image, const Mesh& mesh,
                          const Numbering& numbering, Storage storage, double tolerance) {
  constexpr std::size_t most = 12;
  const sem::Gll gll = sem::gll(mesh.shape().order);
  const std::size_t n = gll.points.size();
  const std::size_t nodes = mesh.nodes_per_element();
  for (std::size_t sample = 0; sample < std::min(most, mesh.elements()); ++sample) {
    // The first, the last, and some between.
    const std::size_t element =
        sample * (mesh.elements() - 1) / std::max<std::size_t>(1, std::min(most, mesh.elements()) - 1);
    std::vector<double> u(nodes);
    for (std::size_t node = 0; node < nodes; ++node) {
      const std::size_t at = element * nodes + node;
      u[node] = is_unknown(at, numbering) ? x[place_of(at, numbering, storage)] : 0.0;
    }
    const auto expected = Element(gll, mesh.vertices(element)).apply(u);
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t node = 0; node < nodes; ++node) {
      const std::size_t at[3] = {node % n, node / n % n, node / (n * n)};
      const bool inside = std::all_of(at, at + 3, [&](std::size_t i) { return i > 0 && i + 1 < n; });
      if (!inside) continue;  // elsewhere, neighbours have their part in it
      const double value = image[place_of(element * nodes + node, numbering, storage)];
      if (std::abs(value - expected[node]) <= tolerance * largest) continue;
      return "A x is " + text(value) + " at node " + std::to_string(node) + " of element " + std::to_string(element) +
             ", expected " + text(expected[node]);
    }
  }
  return {};
}

namespace {

/// Of an element of a vector in an inner product.
struct Weight {
  const double* weights;
  std::size_t counted;

  COMMLENS_FUNCTION double operator()(std::size_t i) const {
    if (weights != nullptr) return weights[i];
    return i < counted ? 1.0 : 0.0;
  }
};

}  // namespace

template <class Function>
double InnerProducts::sum(Function function) const {
  auto* const result = reinterpret_cast<double*>(static_cast<std::byte*>(scratch_) + device::sum_scratch_bytes);
  device::launch_sum(stream_, space_.length, scratch_, result, function);
  double value = 0;
  stream_.copy(&value, result, sizeof value);
  stream_.wait();
  return communicator_.sum_of_reals(value);
}

double InnerProducts::product(const double* a, const double* b) const {
  const Weight weight{space_.weights, space_.counted};
  return sum(COMMLENS_LAMBDA(std::size_t i) { return weight(i) * a[i] * b[i]; });
}

double InnerProducts::norm(const double* a) const { return std::sqrt(product(a, a)); }

double InnerProducts::difference(const double* b, const double* image, const double* r) const {
  const Weight weight{space_.weights, space_.counted};
  return std::sqrt(sum(COMMLENS_LAMBDA(std::size_t i) {
    const double difference = b[i] - image[i] - r[i];
    return weight(i) * difference * difference;
  }));
}

}  // namespace commlens::known_poisson

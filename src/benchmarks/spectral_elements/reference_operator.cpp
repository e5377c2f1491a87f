#include "benchmarks/spectral_elements/reference_operator.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "sem/trilinear.hpp"

namespace commlens {

namespace {

/// One element.
class Element {
 public:
  Element(const sem::Gll& gll, const sem::Vertices& vertices)
      : gll_(gll), n_(gll.points.size()), map_(sem::trilinear(vertices)) {}

  /// A u of the element.
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

}  // namespace

std::vector<double> apply_to_element(const sem::Gll& gll, const sem::Vertices& vertices, const std::vector<double>& u) {
  return Element(gll, vertices).apply(u);
}

}  // namespace commlens

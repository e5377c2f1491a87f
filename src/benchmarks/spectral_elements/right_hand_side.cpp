#include "benchmarks/spectral_elements/right_hand_side.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

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

}  // namespace commlens

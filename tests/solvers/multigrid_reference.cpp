#include "multigrid_reference.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "solvers/interpolation.hpp"

namespace commlens::solvers::reference {

Vector chebyshev(const Operator& sa, const Chebyshev::Bounds& bounds, std::size_t degree, const Vector& e) {
  const double theta = (bounds.largest + bounds.least) / 2;
  const double delta = (bounds.largest - bounds.least) / 2;
  const auto shifted = [&](const Vector& v) {
    Vector result = sum(v, -1 / theta, sa(v));
    for (double& value : result) value *= theta / delta;
    return result;
  };
  Vector before = e;
  Vector now = shifted(e);
  double scale_before = 1;
  double scale_now = theta / delta;
  for (std::size_t k = 1; k < degree; ++k) {
    Vector next = shifted(now);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = 2 * next[i] - before[i];
    const double scale_next = 2 * theta / delta * scale_now - scale_before;
    before = std::move(now);
    now = std::move(next);
    scale_before = scale_now;
    scale_now = scale_next;
  }
  for (double& value : now) value /= scale_now;
  return now;
}

/// A fine node's value is the same in each of its elements, and the last one writes it.
Vector interpolated(const Whole& coarse, const Whole& fine, const Vector& u) {
  const auto matrix = interpolation_matrix(coarse.mesh().gll(), fine.mesh().gll());
  const std::size_t n = coarse.mesh().gll().points.size();
  const std::size_t m = fine.mesh().gll().points.size();
  Vector result(fine.unknowns());
  for (std::size_t node = 0; node < fine.of_node().size(); ++node) {
    const std::size_t unknown = fine.of_node()[node];
    if (unknown == Whole::fixed) continue;
    const std::size_t element = node / (m * m * m);
    double value = 0;
    for (std::size_t j = 0; j < n * n * n; ++j) {
      const std::size_t from = coarse.of_node()[element * n * n * n + j];
      if (from == Whole::fixed) continue;
      value += matrix[node % m * n + j % n] * matrix[node / m % m * n + j / n % n] *
               matrix[node / (m * m) % m * n + j / (n * n)] * u[from];
    }
    result[unknown] = value;
  }
  return result;
}

Vector v_cycle(const std::vector<CycleLevel>& levels, std::size_t level, const Vector& b) {
  const CycleLevel& here = levels[level];
  const Vector solution = solve(here.whole.matrix(), b);
  if (level + 1 == levels.size()) return solution;
  const Whole& coarser = levels[level + 1].whole;
  const Operator sa = [&](const Vector& v) { return here.s(here.whole.apply(v)); };
  // Smoothing multiplies the error.
  Vector error = chebyshev(sa, here.bounds, here.degree + 1, solution);
  const Vector residual = here.whole.apply(error);
  Vector restricted;
  for (std::size_t i = 0; i < coarser.unknowns(); ++i) {
    Vector unit(coarser.unknowns());
    unit[i] = 1;
    restricted.push_back(product(interpolated(coarser, here.whole, unit), residual));
  }
  error = sum(error, -1, interpolated(coarser, here.whole, v_cycle(levels, level + 1, restricted)));
  return sum(solution, -1, chebyshev(sa, here.bounds, here.degree + 1, error));
}

}  // namespace commlens::solvers::reference

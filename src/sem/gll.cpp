#include "sem/gll.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <stdexcept>
#include <string>

namespace commlens::sem {

namespace {

/// P_n and P_(n-1) at x, by Bonnet's recursion.
struct Legendre {
  double value = 1;
  double previous = 0;

  Legendre(int n, double x) {
    for (int k = 1; k <= n; ++k) {
      const double next = ((2 * k - 1) * x * value - (k - 1) * previous) / k;
      previous = value;
      value = next;
    }
  }
};

/// A root of (1 - x^2) P_n'(x) by Newton's method, from the nearest extremum of a Chebyshev polynomial.
double root(int n, int i) {
  double x = -std::cos(std::numbers::pi * i / n);
  constexpr int enough = 20;  // convergence is quadratic, from three correct digits
  for (int step = 0; step < enough; ++step) {
    const Legendre legendre(n, x);
    x -= (x * legendre.value - legendre.previous) / ((n + 1) * legendre.value);
  }
  return x;
}

/// The ends and the middle are exact, and the points are exactly symmetric.
std::vector<double> points_of(int n) {
  std::vector<double> points(static_cast<std::size_t>(n) + 1, 0.0);
  for (int i = 0; 2 * i < n; ++i) {
    const double x = i == 0 ? -1.0 : root(n, i);
    points[static_cast<std::size_t>(i)] = x;
    points[static_cast<std::size_t>(n - i)] = -x;
  }
  return points;
}

}  // namespace

Gll gll(int order) {
  if (order < 1 || order > highest_order) {
    throw std::invalid_argument("an order from 1 to " + std::to_string(highest_order) + ", not " +
                                std::to_string(order));
  }
  Gll gll{.points = points_of(order), .weights = {}, .derivative = {}};
  const std::size_t count = gll.points.size();
  std::vector<double> legendre;
  for (const double x : gll.points) {
    legendre.push_back(Legendre(order, x).value);
    gll.weights.push_back(2.0 / (order * (order + 1) * legendre.back() * legendre.back()));
  }
  gll.derivative.resize(count * count);
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < count; ++j) {
      if (j == i) continue;
      const double entry = legendre[i] / (legendre[j] * (gll.points[i] - gll.points[j]));
      gll.derivative[i * count + j] = entry;
      sum += entry;
    }
    gll.derivative[i * count + i] = -sum;  // so that the derivative of a constant is exactly 0
  }
  return gll;
}

}  // namespace commlens::sem

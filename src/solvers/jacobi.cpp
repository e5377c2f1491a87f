#include "solvers/jacobi.hpp"

#include <array>
#include <cstddef>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "sem/trilinear.hpp"

namespace commlens::solvers {

namespace {

/// The factors rr, rs, rt, ss, st, tt at every node of an element: [node][term].
std::vector<std::array<double, 6>> factors_of(const sem::Gll& gll, const sem::Trilinear& map) {
  const std::size_t n = gll.points.size();
  std::vector<std::array<double, 6>> factors;
  factors.reserve(n * n * n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) {
        const auto at = sem::ColumnOfMap(map, gll.points[i], gll.points[j]).at(gll.points[k]);
        const double scale = gll.weights[i] * gll.weights[j] * gll.weights[k] / at.jacobian;
        const auto product = [&](std::size_t a, std::size_t b) {
          return scale * (at.row[a][0] * at.row[b][0] + at.row[a][1] * at.row[b][1] + at.row[a][2] * at.row[b][2]);
        };
        factors.push_back({product(0, 0), product(0, 1), product(0, 2), product(1, 1), product(1, 2), product(2, 2)});
      }
    }
  }
  return factors;
}

/// The derivative of a node's basis function in one direction is not 0 on the line of nodes in this direction only:
/// squares are sums along the lines through the node, and products of two directions have one term, at the node itself.
double diagonal_at(const sem::Gll& gll, const std::vector<std::array<double, 6>>& factors, std::size_t i, std::size_t j,
                   std::size_t k) {
  const std::size_t n = gll.points.size();
  const auto derivative = [&](std::size_t at, std::size_t of) { return gll.derivative[at * n + of]; };
  const auto square = [](double value) { return value * value; };
  const auto index = [&](std::size_t a, std::size_t b, std::size_t c) { return a + n * (b + n * c); };
  double sum = 0;
  for (std::size_t m = 0; m < n; ++m) {
    sum += square(derivative(m, i)) * factors[index(m, j, k)][0];
    sum += square(derivative(m, j)) * factors[index(i, m, k)][3];
    sum += square(derivative(m, k)) * factors[index(i, j, m)][5];
  }
  const auto& here = factors[index(i, j, k)];
  const double r = derivative(i, i);
  const double s = derivative(j, j);
  const double t = derivative(k, k);
  return sum + 2 * (r * s * here[1] + r * t * here[2] + s * t * here[4]);
}

void invert(float* values, std::size_t count, device::Stream& stream) {
  device::launch(stream, count, COMMLENS_LAMBDA(std::size_t i) { values[i] = 1 / values[i]; });
}

void multiply(const float* a, const float* b, float* product, std::size_t count, device::Stream& stream) {
  device::launch(stream, count, COMMLENS_LAMBDA(std::size_t i) { product[i] = a[i] * b[i]; });
}

}  // namespace

std::vector<double> diagonal_of_elements(const sem::Mesh& mesh) {
  const sem::Gll& gll = mesh.gll();
  const std::size_t n = gll.points.size();
  std::vector<double> diagonal;
  diagonal.reserve(mesh.nodes());
  for (std::size_t element = 0; element < mesh.elements(); ++element) {
    const auto factors = factors_of(gll, sem::trilinear(mesh.vertices(element)));
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < n; ++i) diagonal.push_back(diagonal_at(gll, factors, i, j, k));
      }
    }
  }
  return diagonal;
}

Jacobi::Jacobi(Level<float>& level, const Context& context, const Observation& observation)
    : level_(level), observation_(observation), step_(step_name(level.space().order(), "smoother")) {
  const std::vector<double> sums = level.space().from_nodes(diagonal_of_elements(level.space().mesh()));
  inverse_ = device::upload(std::vector<float>(sums.begin(), sums.end()), context.allocate, context.stream);
  level.add_over_ranks(inverse_.as<float>(), context.stream);
  invert(inverse_.as<float>(), level.length(), context.stream);
  context.stream.wait();
}

void Jacobi::apply_to_zero(float* input, float* output, device::Stream& stream) {
  observed(observation_.observer, step_, stream,
           [&] { multiply(inverse_diagonal(), input, output, level_.length(), stream); });
}

}  // namespace commlens::solvers

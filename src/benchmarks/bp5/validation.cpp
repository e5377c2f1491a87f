// Checks a solve of bp5: its residual and its inner products.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "benchmarks/bp5/problem.hpp"
#include "benchmarks/spectral_elements/inner_products.hpp"
#include "benchmarks/spectral_elements/real_type.hpp"

namespace commlens::bp5 {

namespace {

/// Messages of 32 bits leave their rounding in every sum.
double tolerance_of(const Options& options) { return options.exchange_type == RealType::f32 ? 1e-4 : 1e-9; }

}  // namespace

/// b - A x must be the residual of the iteration, with the norm that it had there, whatever the iteration did; and both
/// ways to compute x . A x must agree.
std::string wrong_sums(Problem& problem) {
  const double tolerance = tolerance_of(problem.options());
  const double of_elements = problem.apply_operator();
  const InnerProducts& products = problem.products();
  const double of_vectors = products.product(problem.x(), problem.image());
  const double difference = products.difference(problem.b(), problem.image(), problem.residual());
  const double norm = products.norm(problem.residual());
  const auto& residuals = problem.solution().relative_residuals;
  const double known = residuals.back() * problem.norm_of_b();
  double largest = 1;  // |r| may grow far beyond |b|
  for (const double residual : residuals) largest = std::max(largest, residual);
  const double allowed = tolerance * largest * problem.norm_of_b();
  if (!(difference <= allowed)) {
    return fmt::format("b - A x differs from the residual of the iteration by {:.3g} of b",
                       difference / problem.norm_of_b());
  }
  if (!(std::abs(norm - known) <= allowed)) {
    return fmt::format("the norm of the residual is {:.17g}, and was {:.17g} in the iteration", norm, known);
  }
  if (!(std::abs(of_vectors - of_elements) <= tolerance * std::abs(of_elements))) {
    return fmt::format("x . A x is {:.17g}, and {:.17g} as the sum over elements", of_vectors, of_elements);
  }
  return {};
}

}  // namespace commlens::bp5

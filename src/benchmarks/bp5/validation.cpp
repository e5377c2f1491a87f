#include "benchmarks/bp5/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "benchmarks/spectral_elements/vector_checks.hpp"

namespace commlens::bp5 {

/// Messages of 32 bits leave their rounding in every sum.
double Validation::tolerance() const { return problem_.options().exchange_type == RealType::f32 ? 1e-4 : 1e-9; }

/// b - A x must be the residual of the iteration, with the norm that it had there, whatever the iteration did; and both
/// ways to compute x . A x must agree. Leaves A x in the image.
std::string Validation::wrong_sums() {
  const double of_elements = problem_.apply_operator();
  const InnerProducts& products = problem_.products();
  const double of_vectors = products.product(problem_.x(), problem_.image());
  const double difference = products.difference(problem_.b(), problem_.image(), problem_.residual());
  const double norm = products.norm(problem_.residual());
  const auto& residuals = problem_.solution().relative_residuals;
  const double known = residuals.back() * problem_.norm_of_b();
  double largest = 1;  // |r| may grow far beyond |b|
  for (const double residual : residuals) largest = std::max(largest, residual);
  const double allowed = tolerance() * largest * problem_.norm_of_b();
  if (!(difference <= allowed)) {
    return fmt::format("b - A x differs from the residual of the iteration by {:.3g} of b",
                       difference / problem_.norm_of_b());
  }
  if (!(std::abs(norm - known) <= allowed)) {
    return fmt::format("the norm of the residual is {:.17g}, and was {:.17g} in the iteration", norm, known);
  }
  if (!(std::abs(of_vectors - of_elements) <= tolerance() * std::abs(of_elements))) {
    return fmt::format("x . A x is {:.17g}, and {:.17g} as the sum over elements", of_vectors, of_elements);
  }
  return {};
}

Verdict Validation::verify(bool thoroughly) {
  std::string error = wrong_sums();
  const VectorLayout layout = problem_.layout();
  if (thoroughly) {
    const auto found = inspect(problem_.x(), problem_.image(), layout, run_.stream(), run_.communicator());
    if (error.empty()) error = found.error;
    largest_error_ = found.largest_error;
  }
  return {.elements = layout.length(), .error = problem_.set_up_error().empty() ? error : problem_.set_up_error()};
}

}  // namespace commlens::bp5

#include "benchmarks/bps5/validation.hpp"

#include <fmt/format.h>

#include <cmath>

#include "benchmarks/spectral_elements/vector_checks.hpp"

namespace commlens::bps5 {

/// The residual that is computed from x must be that of the iteration, whatever the preconditioner did. Leaves A x in
/// the image.
std::string Validation::wrong_residual() {
  problem_.apply_operator();
  const double norm = problem_.norm_of_b();
  const double rest = problem_.products().difference(problem_.b(), problem_.image(), nullptr);
  residual_ = norm > 0 ? rest / norm : rest;
  const solvers::Solution& solution = problem_.solution();
  const Options& options = problem_.options();
  const double known = solution.relative_residuals.back();
  constexpr double rounding = 1e-12;
  const bool agrees = std::abs(residual_ - known) <= 1e-3 * known + rounding;
  constexpr double near_rounding = 1e-9;
  const bool missed = solution.converged && residual_ > 2 * options.tolerance;
  if ((solution.stagnated || missed) && residual_ < near_rounding) {
    return fmt::format(
        "the solve stagnates at |b - A x| / |b| = {:.3g} after {} iterations: --tolerance {:g} cannot be met",
        residual_, solution.iterations, options.tolerance);
  }
  if (!agrees) {
    return fmt::format("|b - A x| / |b| is {:.6g}, and was {:.6g} in the iteration", residual_, known);
  }
  if (solution.stagnated) {
    return fmt::format(
        "the solve stagnates at |b - A x| / |b| = {:.3g} after {} iterations, {} to a restart: a larger "
        "--restart or another --smoother may help",
        residual_, solution.iterations, options.restart);
  }
  if (!solution.converged) {
    return fmt::format(
        "not converged: |b - A x| / |b| is {:.3g} after {} iterations, and --tolerance is {:g}; "
        "--iterations allows more",
        residual_, solution.iterations, options.tolerance);
  }
  return {};
}

Verdict Validation::verify(bool thoroughly) {
  std::string error = wrong_residual();
  const VectorLayout layout = problem_.layout();
  if (thoroughly) {
    const auto found = inspect(problem_.x(), problem_.image(), layout, run_.stream(), run_.communicator());
    if (error.empty()) error = found.error;
    largest_error_ = found.largest_error;
  }
  return {.elements = layout.length(), .error = problem_.set_up_error().empty() ? error : problem_.set_up_error()};
}

}  // namespace commlens::bps5

// Checks a solve of bps5: its residual.

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "benchmarks/bps5/problem.hpp"
#include "benchmarks/spectral_elements/inner_products.hpp"
#include "solvers/solution.hpp"

namespace commlens::bps5 {

namespace {

/// Of a solve with this residual, which is computed from x: it must be that of the iteration, whatever the
/// preconditioner did.
std::string wrong_residual(const Problem& problem, double residual) {
  const solvers::Solution& solution = problem.solution();
  const Options& options = problem.options();
  const double known = solution.relative_residuals.back();
  constexpr double rounding = 1e-12;
  const bool agrees = std::abs(residual - known) <= 1e-3 * known + rounding;
  constexpr double near_rounding = 1e-9;
  const bool missed = solution.converged && residual > 2 * options.tolerance;
  if ((solution.stagnated || missed) && residual < near_rounding) {
    return fmt::format(
        "the solve stagnates at |b - A x| / |b| = {:.3g} after {} iterations: --tolerance {:g} cannot be met", residual,
        solution.iterations, options.tolerance);
  }
  if (!agrees) {
    return fmt::format("|b - A x| / |b| is {:.6g}, and was {:.6g} in the iteration", residual, known);
  }
  if (solution.stagnated) {
    return fmt::format(
        "the solve stagnates at |b - A x| / |b| = {:.3g} after {} iterations, {} to a restart: a larger "
        "--restart or another --smoother may help",
        residual, solution.iterations, options.restart);
  }
  if (!solution.converged) {
    return fmt::format(
        "not converged: |b - A x| / |b| is {:.3g} after {} iterations, and --tolerance is {:g}; "
        "--iterations allows more",
        residual, solution.iterations, options.tolerance);
  }
  return {};
}

}  // namespace

Residual check_residual(Problem& problem) {
  problem.apply_operator();
  const double norm = problem.norm_of_b();
  const double rest = problem.products().difference(problem.b(), problem.image(), nullptr);
  const double relative = norm > 0 ? rest / norm : rest;
  return {.relative = relative, .error = wrong_residual(problem, relative)};
}

}  // namespace commlens::bps5

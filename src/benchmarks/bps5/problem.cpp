#include "benchmarks/bps5/problem.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "benchmarks/spectral_elements/inner_products.hpp"
#include "benchmarks/spectral_elements/solve_report.hpp"
#include "device/device.hpp"
#include "gather_scatter/choice.hpp"
#include "solvers/schwarz.hpp"
#include "solvers/vector_space.hpp"

namespace commlens::bps5 {

namespace gs = gather_scatter;

namespace {

/// The wanted mode must be there on all levels: before anything is made of it.
void require_mode(const sem::FunctionSpace& space, const Options& options, const Context& context) {
  if (!options.mode.method) return;
  const gs::ValueKind kind{.type = DataType::f32, .exchange_type = DataType::f32};
  const std::string reason = gs::unsupported(*options.mode.method, space.numbering().sharing, kind, context);
  if (!reason.empty()) options.mode.refuse(reason);
}

/// Applications in a V-cycle, per level above the coarsest: before the coarser levels, for their change of x, and
/// after.
struct Applications {
  double of_operator = 0;
  double of_smoother = 0;
  double vectors = 0;  ///< that updates read and write
};

Applications applications(const Options& options) {
  const double degree = options.smoother == solvers::Smoother::ras ? 0 : 2;
  // From zero: S r gives the direction and x. With each degree the direction, S r and x are read, and two of them
  // written. After the coarser levels S r, their change of x and x are read, and two vectors are written.
  return {.of_operator = 2 * degree + 2, .of_smoother = 2 * degree + 2, .vectors = 3 + 5 + 10 * degree};
}

double geometry_bytes(const Options& options, double elements, double nodes, double real) {
  return options.geometry == sem::Geometry::stored ? 6 * nodes * real : 24 * elements * real;
}

/// The output is read and written.
double operator_bytes(const Options& options, double elements, double nodes, double length, double real) {
  return 3 * length * real + nodes * sizeof(std::uint32_t) + geometry_bytes(options, elements, nodes, real);
}

/// Six products with the eigenvectors, and the division.
double schwarz_flops(double elements, int order) {
  const double n = order + 3;
  return elements * (12 * std::pow(n, 4) + std::pow(n, 3));
}

/// To a level of order `to` from one of order `from`, both ways.
double interpolation_flops(double elements, int from, int to) {
  const double a = from + 1;
  const double b = to + 1;
  return 2 * elements * 2 * a * b * (a * a + a * b + b * b);
}

double cycle_flops(const Options& options, double elements) {
  const Applications count = applications(options);
  double flops = 0;
  for (std::size_t level = 0; level + 1 < options.levels.size(); ++level) {
    const int order = options.levels[level];
    const double nodes = elements * std::pow(order + 1, 3);
    flops += count.of_operator * operator_flops(elements, order);
    flops += count.of_smoother *
             (options.smoother == solvers::Smoother::chebyshev_jacobi ? nodes : schwarz_flops(elements, order));
    flops += count.vectors / 2 * nodes + interpolation_flops(elements, options.levels[level + 1], order);
  }
  return flops / 2;  // in single precision
}

double cycle_bytes(const Problem& problem) {
  constexpr double real = sizeof(float);
  const Options& options = problem.options();
  const Applications count = applications(options);
  const auto elements = static_cast<double>(problem.space().mesh().elements());
  double bytes = 0;
  for (std::size_t level = 0; level < options.levels.size(); ++level) {
    const sem::FunctionSpace& space = problem.preconditioner().space(level);
    const auto nodes = static_cast<double>(space.mesh().nodes());
    const auto length = static_cast<double>(space.length());
    const double indices = nodes * sizeof(std::uint32_t);
    const double of_operator = operator_bytes(options, elements, nodes, length, real);
    if (level + 1 == options.levels.size()) {
      bytes += problem.preconditioner().coarse_traffic(of_operator);
      continue;
    }
    const bool schwarz = options.smoother != solvers::Smoother::chebyshev_jacobi;
    const double of_smoother =
        schwarz ? 4 * length * real + indices + solvers::Schwarz::traffic(elements, space.order()) : 3 * length * real;
    bytes += count.of_operator * of_operator + count.of_smoother * of_smoother + count.vectors * length * real;
    // The finest residual is a copy. Restriction reads the residual and weights; interpolation writes a change of x.
    bytes += ((level == 0 ? 2 : 0) + 3) * length * real + 2 * indices;
  }
  return bytes;
}

/// Of a solve with this relative residual, which is computed from x: it must be that of the iteration, whatever the
/// preconditioner did.
std::string wrong_residual(const Problem& problem, double relative_residual) {
  const solvers::Solution& solution = problem.solution();
  const Options& options = problem.options();
  const double known = solution.relative_residuals.back();
  constexpr double rounding = 1e-12;
  const bool agrees = std::abs(relative_residual - known) <= 1e-2 * known + rounding;
  constexpr double near_rounding = 1e-9;
  const bool missed = solution.converged && relative_residual > 2 * options.tolerance;
  if ((solution.stagnated || missed) && relative_residual < near_rounding) {
    return fmt::format(
        "the solve stagnates at |b - A x| / |b| = {:.3g} after {} iterations: --tolerance {:g} cannot be met",
        relative_residual, solution.iterations, options.tolerance);
  }
  if (!agrees) {
    return fmt::format("|b - A x| / |b| is {:.6g}, and was {:.6g} in the iteration", relative_residual, known);
  }
  if (solution.stagnated) {
    return fmt::format(
        "the solve stagnates at |b - A x| / |b| = {:.3g} after {} iterations, {} to a restart: a larger "
        "--restart or another --smoother may help",
        relative_residual, solution.iterations, options.restart);
  }
  if (!solution.converged) {
    return fmt::format(
        "not converged: |b - A x| / |b| is {:.3g} after {} iterations, and --tolerance is {:g}; "
        "--iterations allows more",
        relative_residual, solution.iterations, options.tolerance);
  }
  return {};
}

}  // namespace

/// Each step takes seconds for a large mesh.
Problem::Problem(Run& run, const Options& options)
    : SolveProblem(run),
      options_(options),
      space_(options.mesh.of_case(run.ranks()).mesh(run.rank(), run.ranks()), run.context()) {
  allocate(space_.length());
  require_sums(run, DataType::f64);
  require_mode(space_, options, run.context());
  report_mesh(space_.mesh());
  operator_ = std::make_unique<solvers::Level<double>>(space_, options.level_options(), run.context(), observation_);
  use_exchange(operator_->exchange());
  const auto assemble = [this](double* vector, device::Stream& stream) { operator_->add_over_ranks(vector, stream); };
  check_multiplicities(assemble);
  write_right_hand_side(options.rhs, {.length = space_.length(), .counted = space_.numbering().owned}, assemble);
  heartbeat();
  auto preconditioner = options.multigrid();
  // hypre would wait for ever for rows that a wrong exchange has made up. The solve fails anyway.
  if (!run.communicator().first(set_up_error()).empty()) preconditioner.coarse = solvers::Coarse::cg;
  multigrid_ = std::make_unique<solvers::Multigrid>(space_, preconditioner, run.context(), observation_);
  heartbeat();
  auto limits = options.fgmres();
  limits.graphs = options.launches_graphs(run, operator_->enqueues() && multigrid_->enqueues());
  use_graphs(limits.graphs);
  solver_ = std::make_unique<solvers::Fgmres>(
      *operator_,
      [this](const float* input, float* output, device::Stream& stream) { multigrid_->apply(input, output, stream); },
      limits, run.context(), observation_);
}

void Problem::solve_observed(StepObserver& observer) {
  observation_.observer = &observer;
  solve();
  observation_.observer = nullptr;
}

Work work_of(const Problem& problem, int ranks) {
  const Options& options = problem.options();
  const sem::Mesh& mesh = problem.space().mesh();
  const ElementWork work = element_work(mesh, ranks);
  const std::size_t count = problem.solution().iterations;
  const auto iterations = static_cast<double>(count);
  const auto here = static_cast<double>(mesh.elements());
  const auto length = static_cast<double>(problem.space().length());
  double directions = 0;
  for (std::size_t i = 0; i < count; ++i) directions += static_cast<double>(i % options.restart + 1);
  return {.dof = work.dof,
          .flops = iterations * (cycle_flops(options, work.elements) + work.application) + 4 * directions * work.nodes,
          .bytes = iterations * (cycle_bytes(problem) + operator_bytes(options, here, static_cast<double>(mesh.nodes()),
                                                                       length, sizeof(double))) +
                   length * solvers::Fgmres::traffic(options.restart, count)};
}

Residual check_residual(Problem& problem) {
  problem.apply_operator();
  const double norm = problem.norm_of_b();
  const double rest = problem.products().difference(problem.b(), problem.image(), nullptr);
  const double relative = norm > 0 ? rest / norm : rest;
  return {.relative = relative, .error = wrong_residual(problem, relative)};
}

}  // namespace commlens::bps5

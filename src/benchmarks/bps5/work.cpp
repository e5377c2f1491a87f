#include "benchmarks/bps5/work.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "benchmarks/spectral_elements/solve_report.hpp"
#include "solvers/schwarz.hpp"

namespace commlens::bps5 {

namespace {

/// Applications in a V-cycle, per level above the coarsest: before the coarser levels, for the residual, and after.
struct Applications {
  double of_operator = 0;
  double of_smoother = 0;
  double vectors = 0;  ///< that updates read and write
};

Applications applications(const Options& options) {
  const double degree = options.smoother == solvers::Smoother::ras ? 0 : 2;
  // From zero: b is read and written, then S b gives the direction and x. With each degree the direction, S b and x are
  // read and written, and S A d is read. After the coarser levels b - A x and x are read, too.
  return {.of_operator = 2 * degree + 2, .of_smoother = 2 * degree + 2, .vectors = 5 + 7 + 3 + 14 * degree};
}

double geometry_bytes(const Options& options, double elements, double nodes, double real) {
  return options.geometry == sem::Geometry::stored ? 6 * nodes * real : 24 * elements * real;
}

/// The output is set to 0, read and written.
double operator_bytes(const Options& options, double elements, double nodes, double length, double real) {
  return 4 * length * real + nodes * sizeof(std::uint32_t) + geometry_bytes(options, elements, nodes, real);
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

double cycle_bytes(const Problem& problem, int ranks) {
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
      const auto steps = static_cast<double>(options.coarse_steps);
      const double copies = options.coarse == solvers::Coarse::cg_replicated ? ranks : 1;
      bytes += options.coarse == solvers::Coarse::boomeramg ? 2 * length * real
                                                            : copies * steps * (of_operator + 12 * length * real);
      continue;
    }
    const bool schwarz = options.smoother != solvers::Smoother::chebyshev_jacobi;
    const double of_smoother =
        schwarz ? 5 * length * real + indices + solvers::Schwarz::traffic(elements, space.order()) : 3 * length * real;
    bytes += count.of_operator * of_operator + count.of_smoother * of_smoother + count.vectors * length * real;
    bytes += 5 * length * real + 2 * indices;  // restriction and interpolation
  }
  return bytes;
}

}  // namespace

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
  return {
      .dof = work.dof,
      .flops = iterations * (cycle_flops(options, work.elements) + work.application) + 4 * directions * work.nodes,
      .bytes = iterations * (cycle_bytes(problem, ranks) +
                             operator_bytes(options, here, static_cast<double>(mesh.nodes()), length, sizeof(double))) +
               length * solvers::Fgmres::traffic(options.restart, count)};
}

}  // namespace commlens::bps5

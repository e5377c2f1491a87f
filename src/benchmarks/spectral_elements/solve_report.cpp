#include "benchmarks/spectral_elements/solve_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace commlens {

double operator_flops(double elements, int order) {
  const double n = order + 1;
  return elements * (12 * std::pow(n, 4) + 15 * std::pow(n, 3));
}

ElementWork element_work(const sem::Mesh& mesh, int ranks) {
  const auto& [x, y, z] = mesh.shape().elements;
  const int order = mesh.shape().order;
  const double elements = static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z) / ranks;
  return {.elements = elements,
          .dof = elements * std::pow(order, 3),
          .nodes = elements * std::pow(order + 1, 3),
          .application = operator_flops(elements, order)};
}

Measurement solve_measurement(Run& run, SolveProblem& problem, SolveValidation& validation,
                              std::function<std::string()> wrong, std::size_t repeat_on_gpu) {
  return {.operation = "solve",
          .reset = [&problem](std::size_t) { problem.poison(); },
          .operate = [&problem] { problem.solve(); },
          .verify = [&validation,
                     wrong = std::move(wrong)](std::size_t round) { return validation.verify(wrong(), round <= 2); },
          .exact = false,
          .repetition = {.timing = measure::Timing::each,
                         .repeat = device::on_gpu(run.memory()) ? repeat_on_gpu : std::size_t{6},
                         .warmup = 1,
                         .batches = 1}};
}

void add_solve_facts(Run& run, const SolveProblem& problem, const SolveOptions& options,
                     const SolveValidation& validation, double dof) {
  run.fact(solve::dof_per_rank, dof);
  run.fact(solve::degrees_of_freedom, problem.layout().mesh.degrees_of_freedom());
  run.fact(solve::norm_of_b, problem.norm_of_b());
  run.fact(solve::iterations, static_cast<std::int64_t>(problem.solution().iterations));
  if (run.stream().on_gpu()) run.fact(solve::launches, problem.launches_graphs() ? "graphs" : "kernels");
  run.fact(solve::exchange, problem.exchange());
  const auto error = validation.largest_error();
  if (options.rhs == RightHandSide::manufactured && error) run.fact(solve::largest_error, *error);
  run.series("relative_residual", problem.solution().relative_residuals);
}

void report_solve(Run& run, const SolveWork& work, bool with_dof_per_s) {
  const std::vector<double>& seconds = run.samples();
  if (seconds.empty()) return;
  const auto [least, largest] = std::minmax_element(seconds.begin(), seconds.end());
  const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  const double of_iterations = work.dof * static_cast<double>(work.iterations);
  run.report(fmt::format("repetitions: {}", seconds.size()));
  run.report(fmt::format("solve time: min: {:g}s  avg: {:g}s  max: {:g}s", *least, mean, *largest));
  run.report(fmt::format("iterations: {}", work.iterations));
  run.report(fmt::format("throughput: {:g} (DOF x iter)/s/rank", of_iterations / *least));
  if (with_dof_per_s) run.report(fmt::format("throughput: {:g} DOF/s/rank", work.dof / *least));
  run.report(fmt::format("flops/rank: {:g}", work.flops / *least));
}

}  // namespace commlens

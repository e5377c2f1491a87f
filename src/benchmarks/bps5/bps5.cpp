// nekRS's BPS5: the Poisson problem of bp5, solved to a tolerance by FGMRES with p-multigrid, Chebyshev-accelerated
// Schwarz smoothers and an algebraic coarse solve (Phillips et al., Tuning spectral element preconditioners for
// parallel scalability on GPUs, PASC 2022). It is the communication of an implicit solver: exchanges on levels of
// different sizes in two precisions, reductions of vectors that grow, and a coarse problem that is latency alone.
#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/bps5/options.hpp"
#include "benchmarks/bps5/problem.hpp"
#include "benchmarks/spectral_elements/solve_problem.hpp"
#include "benchmarks/spectral_elements/solve_report.hpp"
#include "harness/benchmark.hpp"

namespace commlens::bps5 {
namespace {

using namespace solve;  // the metrics and facts of all solves

constexpr Metric throughput_DOF_per_s{"throughput_DOF_per_s", unit::DOF_per_s, Better::higher,
                                      "per rank: elements*order^3 over the time of a solve"};
constexpr Metric rank_GFLOPs{"rank_GFLOPs", unit::GFLOPs, Better::higher,
                             "per rank: operations of a solve over the time; those in single precision count half, as "
                             "nekRS counts",
                             "rate per rank"};
constexpr Metric memory_GBps{"memory_GBps", unit::GBps, Better::higher,
                             "per rank: bytes that a solve must read and write over the time"};

constexpr Fact residual{"residual", unit::none,
                        "2-norm of b - A x over that of b, computed from the solution in double precision"};
constexpr Fact bytes_per_solve{"bytes_per_solve", unit::bytes,
                               "bytes that a solve must read and write, per rank, if nothing stays in a cache between "
                               "two kernels"};
constexpr Fact spectral_radius{"spectral_radius", unit::none,
                               "largest eigenvalue of smoother times operator, by level from the finest"};
constexpr Fact coarse_solver{"coarse_solver", unit::none, "what solves the level of order 1"};

std::string text_of(const std::vector<double>& radii) {
  std::string text;
  for (const double radius : radii) text += fmt::format("{}{:.4g}", text.empty() ? "" : ", ", radius);
  return text;
}

/// The steps of a solve by level, as the solver names them.
std::vector<Part> parts(const Options& options, int ranks) {
  constexpr const char* stream = "solve";
  std::vector<Part> parts;
  const auto add = [&](std::string name) { parts.push_back({std::move(name), stream}); };
  const int finest = options.levels.front();
  add(solvers::step_name(finest, "operator f64"));
  if (ranks > 1) add(solvers::step_name(finest, "exchange f64"));
  for (const int order : options.levels) {
    const bool coarsest = order == options.levels.back();
    if (!coarsest || options.coarse != solvers::Coarse::boomeramg) add(solvers::step_name(order, "operator f32"));
    if (!coarsest) {
      for (const char* step : {"smoother", "vectors", "restriction", "interpolation"}) {
        add(solvers::step_name(order, step));
      }
    }
    if (ranks > 1) add(solvers::step_name(order, "exchange f32"));
  }
  add(solvers::coarse_step);
  add("vectors");
  if (ranks > 1) add("reductions");
  return parts;
}

std::vector<CeilingRequest> ceilings(Problem& problem, const Work& work) {
  const double vectors = 4 * static_cast<double>(problem.space().length()) * sizeof(float);
  const std::vector<std::function<void()>> coarse(problem.solution().iterations, [&] { problem.solve_coarse(); });
  return {MemoryCeiling{.bytes = work.bytes, .working_set = vectors},
          CallCeiling{.name = "coarse solves alone",
                      .method = problem.preconditioner().coarse_description() + ", one per iteration",
                      .part = solvers::coarse_step,
                      .bytes = 0,
                      .calls = coarse}};
}

void run_solves(Run& run, const Options& options) {
  Problem problem(run, options);
  SolveValidation validation(run, problem);
  problem.solve();  // its iterations are those of all solves
  const Work work = work_of(problem, run.ranks());
  const std::size_t count = problem.solution().iterations;
  double relative_residual = 0;
  const auto wrong = [&] {
    const Residual checked = check_residual(problem);
    relative_residual = checked.relative;
    return checked.error;
  };
  Measurement measurement = solve_measurement(run, problem, validation, wrong, 50);
  measurement.metrics = {throughput_DOF_iter_per_s(work.dof * static_cast<double>(count)),
                         throughput_DOF_per_s(work.dof), time_ms(), rank_GFLOPs(work.flops), memory_GBps(work.bytes)};
  measurement.parts = parts(options, run.ranks());
  measurement.trace = [&](StepObserver& observer) { problem.solve_observed(observer); };
  measurement.ceilings = ceilings(problem, work);
  run.measure(measurement);
  add_solve_facts(run, problem, options, validation, work.dof);
  run.fact(residual, relative_residual);
  run.fact(bytes_per_solve, work.bytes);
  run.fact(spectral_radius, text_of(problem.preconditioner().spectral_radii()));
  run.fact(coarse_solver, problem.preconditioner().coarse_description());
  report_solve(run, {.iterations = count, .dof = work.dof, .flops = work.flops}, true);
}

BENCHMARK("bps5", "FGMRES with p-multigrid on spectral elements (nekRS's BPS5 on a Kershaw mesh)", run_solves, Options,
          .metrics = {throughput_DOF_iter_per_s, throughput_DOF_per_s, time_ms, rank_GFLOPs, memory_GBps},
          .facts = {dof_per_rank, degrees_of_freedom, norm_of_b, iterations, residual, bytes_per_solve, spectral_radius,
                    coarse_solver, launches, exchange, largest_error},
          .divides_work = true);

}  // namespace
}  // namespace commlens::bps5

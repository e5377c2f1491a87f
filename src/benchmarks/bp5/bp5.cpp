// CEED's bake-off problem 5 as nekRS runs it: -laplace u = f on a Kershaw mesh, u = 0 on the boundary, order 7, by
// conjugate gradients without a preconditioner (Fischer et al., IJHPCA 34, 2020; nekRS's kershaw case). Its cost is
// memory traffic, and the gather-scatter in it.
//
// nekRS's own iteration uses the norm of the residual in place of its square, and does not converge. This one is
// correct.
#include <cstddef>

#include "benchmarks/bp5/options.hpp"
#include "benchmarks/bp5/problem.hpp"
#include "benchmarks/spectral_elements/solve_problem.hpp"
#include "benchmarks/spectral_elements/solve_report.hpp"
#include "harness/benchmark.hpp"

namespace commlens::bp5 {
namespace {

using namespace solve;  // the metrics and facts of all solves

constexpr Metric rank_GFLOPs{"rank_GFLOPs", unit::GFLOPs, Better::higher,
                             "per rank: operations of a solve by nekRS's count over the time", "rate per rank"};
constexpr Metric memory_GBps{"memory_GBps", unit::GBps, Better::higher,
                             "per rank: bytes that the iterations of a solve must read and write over the time"};

constexpr Fact bytes_per_iteration{"bytes_per_iteration", unit::bytes,
                                   "bytes that an iteration must read and write, per rank, if nothing stays in a cache "
                                   "between two kernels"};
constexpr Fact bytes_per_dof_iteration{"bytes_per_dof_iteration", unit::bytes, "bytes_per_iteration over dof_per_rank"};
constexpr Fact flops_per_iteration{"flops_per_iteration", unit::none,
                                   "operations of an iteration by nekRS's count, per rank"};

void run_solves(Run& run, const Options& options) {
  Problem problem(run, options);
  SolveValidation validation(run, problem);
  problem.solve();  // its iterations are those of all solves
  const Work work = work_of(problem, run.ranks());
  const std::size_t count = problem.solution().iterations;
  const double bytes = work.bytes_per_iteration * static_cast<double>(count);
  const double flops = work.flops(count);
  const double vector = static_cast<double>(problem.layout().length()) * sizeof(double);
  Measurement measurement = solve_measurement(run, problem, validation, [&] { return wrong_sums(problem); }, 25);
  measurement.metrics = {throughput_DOF_iter_per_s(work.dof * static_cast<double>(count)), time_ms(),
                         rank_GFLOPs(flops), memory_GBps(bytes)};
  measurement.ceilings = {MemoryCeiling{.bytes = bytes, .working_set = 4 * vector},
                          GemmCeiling{.flops = flops, .gemm = {.type = DataType::f64}}};
  run.measure(measurement);
  add_solve_facts(run, problem, options, validation, work.dof);
  run.fact(bytes_per_iteration, work.bytes_per_iteration);
  run.fact(bytes_per_dof_iteration, work.bytes_per_iteration / work.dof);
  run.fact(flops_per_iteration, work.flops_per_iteration);
  report_solve(run, {.iterations = count, .dof = work.dof, .flops = flops}, false);
}

BENCHMARK("bp5", "conjugate gradients on spectral elements (nekRS's BP5 on a Kershaw mesh)", run_solves, Options,
          .metrics = {throughput_DOF_iter_per_s, time_ms, rank_GFLOPs, memory_GBps},
          .facts = {dof_per_rank, degrees_of_freedom, norm_of_b, iterations, bytes_per_iteration,
                    bytes_per_dof_iteration, flops_per_iteration, launches, exchange, largest_error},
          .divides_work = true);

}  // namespace
}  // namespace commlens::bp5

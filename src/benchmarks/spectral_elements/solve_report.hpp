// What records of solves have in common: metrics, facts, amounts of work, nekRS's lines, and the ceiling of memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "benchmarks/spectral_elements/solve_options.hpp"
#include "benchmarks/spectral_elements/solve_problem.hpp"
#include "harness/measurement.hpp"
#include "harness/run.hpp"
#include "measure/metric.hpp"
#include "measure/record.hpp"
#include "sem/mesh.hpp"

namespace commlens {

namespace solve {
namespace unit = measure::unit;
using measure::Better;

inline constexpr measure::Metric throughput_DOF_iter_per_s{
    "throughput_DOF_iter_per_s", unit::DOF_iterations_per_s, Better::higher,
    "per rank: elements*order^3*iterations over the time of a solve"};
inline constexpr measure::Metric time_ms{"time_ms", unit::ms, Better::lower, "time of one solve"};

inline constexpr measure::Fact dof_per_rank{"dof_per_rank", unit::none,
                                            "elements*order^3 per rank: nekRS's degrees of freedom"};
inline constexpr measure::Fact degrees_of_freedom{"degrees_of_freedom", unit::none,
                                                  "unknowns of all ranks, each counted once"};
inline constexpr measure::Fact norm_of_b{"norm_of_b", unit::none, "2-norm of the right-hand side"};
inline constexpr measure::Fact iterations{"iterations", unit::none, "iterations of a solve"};
inline constexpr measure::Fact launches{"launches", unit::none,
                                        "of a GPU's work: iterations as graphs, or kernel by kernel"};
inline constexpr measure::Fact exchange{"exchange", unit::none,
                                        "configuration of the gather-scatter, in nekRS's words"};
inline constexpr measure::Fact largest_error{
    "largest_error", unit::none, "largest difference from the manufactured solution, whose largest value is 1"};
}  // namespace solve

/// Per rank on average, as nekRS counts.
struct ElementWork {
  double elements = 0;
  double dof = 0;          ///< elements order^3
  double nodes = 0;        ///< elements (order + 1)^3
  double application = 0;  ///< operations to apply the operator once
};
ElementWork element_work(const sem::Mesh& mesh, int ranks);
/// nekRS counts 12 N^4 + 15 N^3 operations per element and application, N = order + 1.
double operator_flops(double elements, int order);

/// Solves, each timed by itself: `repeat_on_gpu` on a GPU, otherwise 6, unless the user asks for another number.
/// `wrong` checks the last solve, and leaves A x in the image. Metrics, parts and ceilings are the caller's to add.
Measurement solve_measurement(Run& run, SolveProblem& problem, SolveValidation& validation,
                              std::function<std::string()> wrong, std::size_t repeat_on_gpu);

/// Adds the facts above and the residuals of the iterations.
void add_solve_facts(Run& run, const SolveProblem& problem, const SolveOptions& options,
                     const SolveValidation& validation, double dof);

/// Of all solves of a run.
struct SolveWork {
  std::size_t iterations = 0;
  double dof = 0;    ///< per rank, as nekRS counts
  double flops = 0;  ///< of a solve, per rank
};

/// Adds what nekRS would have printed, in its words, after measure(). nekRS prints DOF/s for BPS5 only.
void report_solve(Run& run, const SolveWork& work, bool with_dof_per_s);

}  // namespace commlens

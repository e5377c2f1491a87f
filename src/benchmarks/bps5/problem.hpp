// The problem that bps5 solves: mesh, operator, preconditioner and solver of one case.
#pragma once

#include <memory>
#include <string>

#include "benchmarks/bps5/options.hpp"
#include "benchmarks/spectral_elements/solve_problem.hpp"
#include "benchmarks/spectral_elements/vector_layout.hpp"
#include "device/steps.hpp"
#include "harness/run.hpp"
#include "sem/function_space.hpp"
#include "sem/poisson.hpp"
#include "solvers/fgmres.hpp"
#include "solvers/level.hpp"
#include "solvers/multigrid.hpp"

namespace commlens::bps5 {

class Problem final : public SolveProblem {
 public:
  /// Adds to the run's report what nekRS prints about a set-up. Throws Unsupported where the mode is not supported.
  Problem(Run& run, const Options& options);

  void solve() override { solve_by(*solver_); }
  /// The same, while `observer` is told of the steps.
  void solve_observed(StepObserver& observer);
  /// A x of the last solve into the image. Collective.
  void apply_operator() { operator_->apply(x(), image_buffer().as<double>(), run().stream()); }
  /// One solve of the coarsest level alone. Collective.
  void solve_coarse() { multigrid_->solve_coarsest(run().stream()); }

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const sem::FunctionSpace& space() const { return space_; }
  [[nodiscard]] VectorLayout layout() const override {
    return {space_.mesh(), space_.numbering(), sem::Storage::unique};
  }
  [[nodiscard]] const solvers::Multigrid& preconditioner() const { return *multigrid_; }

 private:
  const Options& options_;
  solvers::Observation observation_;
  sem::FunctionSpace space_;
  std::unique_ptr<solvers::Level<double>> operator_;
  std::unique_ptr<solvers::Multigrid> multigrid_;
  std::unique_ptr<solvers::Fgmres> solver_;
};

struct Residual {
  double relative = 0;  ///< |b - A x| / |b| of the last solve, computed from its solution
  std::string error;    ///< what is wrong with it; empty: nothing
};
/// Leaves A x in the image. Collective.
Residual check_residual(Problem& problem);

/// How much a solve computes and how much memory it must read and write.
struct Work {
  double dof = 0;    ///< per rank on average, as nekRS counts: elements order^3
  double flops = 0;  ///< of a solve, likewise, in nekRS's way of counting: those in single precision count half
  double bytes = 0;  ///< of a solve, of this rank, if nothing stays in a cache between two kernels
};

/// Of the last solve.
Work work_of(const Problem& problem, int ranks);

}  // namespace commlens::bps5

// The problem that bps5 solves: mesh, operator, preconditioner and solver of one case.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/bps5/options.hpp"
#include "benchmarks/spectral_elements/inner_products.hpp"
#include "benchmarks/spectral_elements/vector_layout.hpp"
#include "harness/run.hpp"
#include "sem/function_space.hpp"
#include "solvers/fgmres.hpp"
#include "solvers/level.hpp"
#include "solvers/multigrid.hpp"

namespace commlens::bps5 {

class Problem {
 public:
  /// Adds to the run's report what nekRS prints about a set-up. Throws Unsupported where the mode is not supported.
  Problem(Run& run, const Options& options);
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  void solve();
  /// The same, while `observer` is told of the steps.
  void solve_observed(StepObserver& observer);
  /// Queues overwriting the solution, so that it cannot pass for the next solve's.
  void poison();
  /// A x of the last solve into the image. Collective.
  void apply_operator();
  /// One solve of the coarsest level alone. Collective.
  void solve_coarse();

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const sem::FunctionSpace& space() const { return space_; }
  [[nodiscard]] VectorLayout layout() const { return {space_.mesh(), space_.numbering(), sem::Storage::unique}; }
  [[nodiscard]] const InnerProducts& products() const { return products_; }
  [[nodiscard]] const solvers::Multigrid& preconditioner() const { return *multigrid_; }
  [[nodiscard]] const std::string& exchange() const { return exchange_; }  ///< of the solver, as nekRS says it

  [[nodiscard]] bool launches_graphs() const { return launches_graphs_; }

  [[nodiscard]] const double* b() const { return b_.as<double>(); }
  [[nodiscard]] double norm_of_b() const { return norm_of_b_; }
  [[nodiscard]] const double* x() const { return x_.as<double>(); }
  [[nodiscard]] const double* image() const { return image_.as<double>(); }
  [[nodiscard]] const solvers::Solution& solution() const { return solution_; }  ///< of the last solve
  /// What validation of the gather-scatter has found in the set-up; empty: nothing wrong.
  [[nodiscard]] const std::string& set_up_error() const { return set_up_error_; }

 private:
  void check_multiplicities();
  void write_right_hand_side();

  Run& run_;
  const Options& options_;
  solvers::Observation observation_;
  sem::FunctionSpace space_;
  device::Buffer b_, x_, image_;
  InnerProducts products_;
  std::unique_ptr<solvers::Level<double>> operator_;
  std::unique_ptr<solvers::Multigrid> multigrid_;
  std::unique_ptr<solvers::Fgmres> solver_;
  solvers::Solution solution_;
  std::string exchange_;
  bool launches_graphs_ = false;
  double norm_of_b_ = 0;
  std::string set_up_error_;
};

}  // namespace commlens::bps5

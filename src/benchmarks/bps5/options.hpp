// The options of bps5.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "benchmarks/spectral_elements/solve_options.hpp"
#include "harness/memory_plan.hpp"
#include "harness/options.hpp"
#include "solvers/fgmres.hpp"
#include "solvers/multigrid.hpp"

namespace commlens::bps5 {

struct Options : SolveOptions {
  std::vector<int> levels;  ///< empty: chosen by resolve()
  solvers::Smoother smoother = solvers::Smoother::chebyshev_ras;
  solvers::Coarse coarse = solvers::boomeramg_missing().empty() ? solvers::Coarse::boomeramg : solvers::Coarse::cg;
  std::size_t coarse_steps = 20;
  std::size_t restart = 15;

  Options() {
    iterations = 500;
    tolerance = 1e-8;
    overlap = false;
  }
  void describe(OptionSet& options);
  void resolve(int ranks);
  std::vector<std::string> scale_to_memory(const MemoryBudget& budget, int ranks);
  [[nodiscard]] MemoryEstimate memory_estimate(int rank, int ranks) const;

  [[nodiscard]] solvers::LevelOptions level_options() const {
    return {.geometry = geometry, .method = mode.method, .overlap = overlap};
  }
  [[nodiscard]] solvers::Multigrid::Options multigrid() const {
    return {.orders = levels,
            .smoother = smoother,
            .coarse = coarse,
            .coarse_steps = coarse_steps,
            .level = level_options()};
  }
  [[nodiscard]] solvers::Fgmres::Options fgmres() const {
    return {.restart = restart, .iterations = iterations, .tolerance = tolerance};
  }

 private:
  void describe_preconditioner(OptionSet& options);
  void describe_solve(OptionSet& options);
  void refuse_mesh_beyond(const MemoryBudget& budget, int ranks) const;
};

}  // namespace commlens::bps5

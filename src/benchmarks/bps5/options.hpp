// The options of bps5.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "benchmarks/spectral_elements/exchange_mode.hpp"
#include "benchmarks/spectral_elements/graph_launches.hpp"
#include "benchmarks/spectral_elements/right_hand_side.hpp"
#include "benchmarks/spectral_elements/sized_mesh.hpp"
#include "gather_scatter/gather_scatter.hpp"
#include "harness/memory_plan.hpp"
#include "harness/options.hpp"
#include "sem/poisson.hpp"
#include "solvers/fgmres.hpp"
#include "solvers/multigrid.hpp"

namespace commlens::bps5 {

struct Options {
  SizedMesh mesh;
  std::vector<int> levels;  ///< empty: chosen by resolve()
  sem::Geometry geometry = sem::Geometry::trilinear;
  solvers::Smoother smoother = solvers::Smoother::chebyshev_ras;
  solvers::Coarse coarse = solvers::boomeramg_missing().empty() ? solvers::Coarse::boomeramg : solvers::Coarse::cg;
  std::size_t coarse_steps = 20;
  RightHandSide rhs = RightHandSide::nekrs;
  std::size_t restart = 30;
  std::size_t iterations = 500;
  double tolerance = 1e-8;
  ExchangeMode mode;
  bool overlap = false;
  GraphLaunches graphs;
  bool on_gpu = false;  ///< set by scale_to_memory()

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

// The options of bp5.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "benchmarks/spectral_elements/exchange_mode.hpp"
#include "benchmarks/spectral_elements/graph_launches.hpp"
#include "benchmarks/spectral_elements/real_type.hpp"
#include "benchmarks/spectral_elements/right_hand_side.hpp"
#include "benchmarks/spectral_elements/sized_mesh.hpp"
#include "gather_scatter/gather_scatter.hpp"
#include "harness/memory_plan.hpp"
#include "harness/options.hpp"
#include "sem/poisson.hpp"
#include "solvers/conjugate_gradients.hpp"

namespace commlens::bp5 {

struct Options {
  SizedMesh mesh;
  sem::Geometry geometry = sem::Geometry::trilinear;
  sem::Storage storage = sem::Storage::unique;
  solvers::Solver solver = solvers::Solver::classical;
  RightHandSide rhs = RightHandSide::nekrs;
  std::size_t iterations = 0;  ///< 0: chosen by scale_to_memory()
  double tolerance = 1e-15;
  RealType exchange_type = RealType::f64;
  ExchangeMode mode;
  bool overlap = true;
  GraphLaunches graphs;
  bool on_gpu = false;  ///< set by scale_to_memory()

  void describe(OptionSet& options);
  void resolve(int ranks);
  std::vector<std::string> scale_to_memory(const MemoryBudget& budget, int ranks);
  [[nodiscard]] MemoryEstimate memory_estimate(int rank, int ranks) const;

  [[nodiscard]] solvers::ConjugateGradients::Limits limits() const {
    return {.iterations = iterations, .tolerance = tolerance};
  }
  [[nodiscard]] gather_scatter::ValueKind exchange_kind() const {
    return {.type = DataType::f64, .exchange_type = data_type(exchange_type)};
  }

 private:
  void describe_solve(OptionSet& options);
  void describe_exchange(OptionSet& options);
  void refuse_iterations_beyond(const MemoryBudget& budget) const;
  void refuse_mesh_beyond(const MemoryBudget& budget, int ranks) const;
};

}  // namespace commlens::bp5

// The options of bp5.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/spectral_elements/solve_options.hpp"
#include "device/data_type.hpp"
#include "gather_scatter/gather_scatter.hpp"
#include "harness/memory_plan.hpp"
#include "harness/options.hpp"
#include "sem/poisson.hpp"
#include "solvers/conjugate_gradients.hpp"

namespace commlens::bp5 {

struct Options : SolveOptions {
  sem::Storage storage = sem::Storage::unique;
  solvers::Solver solver = solvers::Solver::classical;
  RealType exchange_type = RealType::f64;

  Options() { tolerance = 1e-15; }  // and as many iterations as scale_to_memory() chooses
  void describe(OptionSet& options);
  void resolve(int ranks) { mesh.resolve(ranks); }
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
  void refuse_iterations_beyond(const MemoryBudget& budget) const;
  void refuse_mesh_beyond(const MemoryBudget& budget, int ranks) const;
};

}  // namespace commlens::bp5

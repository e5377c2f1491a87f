// The problem that bp5 solves: mesh, unknowns, vectors, operator and solver of one case.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "benchmarks/bp5/options.hpp"
#include "benchmarks/spectral_elements/solve_problem.hpp"
#include "benchmarks/spectral_elements/vector_layout.hpp"
#include "device/device.hpp"
#include "gather_scatter/gather_scatter.hpp"
#include "gather_scatter/sharing.hpp"
#include "harness/run.hpp"
#include "sem/mesh.hpp"
#include "sem/numbering.hpp"
#include "sem/poisson.hpp"
#include "solvers/conjugate_gradients.hpp"
#include "solvers/vector_space.hpp"

namespace commlens::bp5 {

class Problem final : public SolveProblem {
 public:
  /// Adds to the run's report what nekRS prints about a set-up. Throws Unsupported where the mode is not supported.
  Problem(Run& run, const Options& options);

  void solve() override { solve_by(*solver_); }
  /// A x of the last solve into the image. Returns x . A x of all ranks, as the sum over elements. Collective, and
  /// waits.
  double apply_operator();

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const sem::Mesh& mesh() const { return mesh_; }
  [[nodiscard]] VectorLayout layout() const override { return {mesh_, numbering_, options_.storage}; }
  [[nodiscard]] const solvers::VectorSpace& space() const { return space_; }
  [[nodiscard]] const gather_scatter::Sharing& sharing() const { return sharing_; }  ///< of the vectors' places
  [[nodiscard]] const double* residual() const { return solver_->residual(); }       ///< as the iteration has it

 private:
  void number_unknowns();
  void choose_exchange();
  void weigh();
  void make_solver();

  const Options& options_;
  sem::Mesh mesh_;
  sem::Numbering numbering_;
  gather_scatter::Sharing sharing_;
  solvers::VectorSpace space_;
  device::Buffer weights_, energy_;
  std::unique_ptr<sem::Poisson<double>> poisson_;
  std::unique_ptr<gather_scatter::GatherScatter> gather_scatter_;
  std::unique_ptr<sem::AssembledPoisson<double>> operator_;
  std::unique_ptr<solvers::ConjugateGradients> solver_;
};

/// What is wrong with the last solve's residual and inner products; empty: nothing. Leaves A x in the image.
/// Collective.
std::string wrong_sums(Problem& problem);

/// How much a solve computes and how much memory it must read and write.
struct Work {
  double dof = 0;                  ///< per rank on average, as nekRS counts: elements order^3
  double flops_per_iteration = 0;  ///< likewise
  double flops_of_start = 0;       ///< before the first iteration
  double bytes_per_iteration = 0;  ///< of this rank

  [[nodiscard]] double flops(std::size_t iterations) const {
    return static_cast<double>(iterations) * flops_per_iteration + flops_of_start;
  }
};

Work work_of(const Problem& problem, int ranks);

}  // namespace commlens::bp5

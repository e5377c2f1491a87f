// The problem that bp5 solves: mesh, unknowns, vectors, operator and solver of one case.
#pragma once

#include <memory>
#include <string>

#include "benchmarks/bp5/options.hpp"
#include "benchmarks/spectral_elements/inner_products.hpp"
#include "benchmarks/spectral_elements/vector_layout.hpp"
#include "gather_scatter/gather_scatter.hpp"
#include "harness/run.hpp"
#include "sem/assembled_poisson.hpp"
#include "sem/mesh.hpp"
#include "sem/numbering.hpp"
#include "sem/poisson.hpp"
#include "solvers/conjugate_gradients.hpp"

namespace commlens::bp5 {

class Problem {
 public:
  /// Adds to the run's report what nekRS prints about a set-up. Throws Unsupported where the mode is not supported.
  Problem(Run& run, const Options& options);
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  void solve();
  [[nodiscard]] bool launches_graphs() const { return launches_graphs_; }
  /// Queues overwriting the solution, so that it cannot pass for the next solve's.
  void poison();
  /// A x of the last solve into the image. Returns x . A x of all ranks, as the sum over elements. Collective, and
  /// waits.
  double apply_operator();

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const sem::Mesh& mesh() const { return mesh_; }
  [[nodiscard]] VectorLayout layout() const { return {mesh_, numbering_, options_.storage}; }
  [[nodiscard]] const solvers::VectorSpace& space() const { return space_; }
  [[nodiscard]] const gather_scatter::Sharing& sharing() const { return sharing_; }  ///< of the vectors' places
  [[nodiscard]] const InnerProducts& products() const { return *products_; }
  [[nodiscard]] const std::string& exchange() const {
    return exchange_;
  }  ///< the configuration in use, as nekRS says it

  [[nodiscard]] const double* b() const { return b_.as<double>(); }
  [[nodiscard]] double norm_of_b() const { return norm_of_b_; }
  [[nodiscard]] const double* x() const { return x_.as<double>(); }
  [[nodiscard]] const double* image() const { return image_.as<double>(); }
  [[nodiscard]] const double* residual() const { return solver_->residual(); }   ///< as the iteration has it
  [[nodiscard]] const solvers::Solution& solution() const { return solution_; }  ///< of the last solve
  /// What validation of the gather-scatter has found in the set-up; empty: nothing wrong.
  [[nodiscard]] const std::string& set_up_error() const { return set_up_error_; }

 private:
  void number_unknowns();
  void allocate_vectors();
  void choose_exchange();
  void weigh();
  void write_right_hand_side();
  void make_solver();

  Run& run_;
  const Options& options_;
  sem::Mesh mesh_;
  sem::Numbering numbering_;
  gather_scatter::Sharing sharing_;
  solvers::VectorSpace space_;
  device::Buffer b_, x_, image_, weights_, energy_;
  std::unique_ptr<sem::Poisson<double>> poisson_;
  std::unique_ptr<gather_scatter::GatherScatter> gather_scatter_;
  std::string exchange_;
  std::unique_ptr<InnerProducts> products_;
  std::unique_ptr<sem::AssembledPoisson<double>> operator_;
  std::unique_ptr<solvers::ConjugateGradients> solver_;
  solvers::Solution solution_;
  bool launches_graphs_ = false;
  double norm_of_b_ = 0;
  std::string set_up_error_;
};

}  // namespace commlens::bp5

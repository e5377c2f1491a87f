// What problems have in common that are solved on a spectral-element mesh: vectors, their right-hand side, the last
// solution, what the set-up has shown; and the checks of it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "benchmarks/spectral_elements/inner_products.hpp"
#include "benchmarks/spectral_elements/vector_checks.hpp"
#include "benchmarks/spectral_elements/vector_layout.hpp"
#include "device/device.hpp"
#include "gather_scatter/choice.hpp"
#include "harness/run.hpp"
#include "sem/mesh.hpp"
#include "solvers/vector_space.hpp"

namespace commlens {

class SolveProblem {
 public:
  virtual ~SolveProblem() = default;

  virtual void solve() = 0;
  [[nodiscard]] virtual VectorLayout layout() const = 0;
  /// Queues overwriting the solution, so that it cannot pass for the next solve's.
  void poison() { run_.stream().fill(x_.data(), 0xFF, x_.bytes()); }

  [[nodiscard]] const InnerProducts& products() const { return *products_; }
  [[nodiscard]] const std::string& exchange() const { return exchange_; }  ///< the configuration, in nekRS's words
  [[nodiscard]] bool launches_graphs() const { return launches_graphs_; }
  [[nodiscard]] const double* b() const { return b_.as<double>(); }
  [[nodiscard]] double norm_of_b() const { return norm_of_b_; }
  [[nodiscard]] const double* x() const { return x_.as<double>(); }
  [[nodiscard]] const double* image() const { return image_.as<double>(); }      ///< for A x
  [[nodiscard]] const solvers::Solution& solution() const { return solution_; }  ///< of the last solve
  /// What validation of the gather-scatter has shown in the set-up; empty: nothing wrong.
  [[nodiscard]] const std::string& set_up_error() const { return set_up_error_; }

 protected:
  /// Sums a vector over elements and ranks.
  using Assemble = std::function<void(double* vector, device::Stream& stream)>;

  /// The run must outlive it.
  explicit SolveProblem(Run& run) : run_(run) {}

  [[nodiscard]] Run& run() const { return run_; }
  /// Adds to the run's report what nekRS prints about a mesh.
  void report_mesh(const sem::Mesh& mesh);
  /// b, x and A x, of so many unknowns.
  void allocate(std::size_t length);
  /// Adds to the run's report which exchange is used, where it was chosen by timing.
  void use_exchange(const gather_scatter::Selection& selection);
  void use_graphs(bool used) { launches_graphs_ = used; }
  /// How often each unknown is stored: exactly known, and what the sum of ones must give. Leaves that in the image.
  void check_multiplicities(const Assemble& assemble);
  void write_right_hand_side(RightHandSide kind, const solvers::VectorSpace& space, const Assemble& assemble);
  template <class Solver>
  void solve_by(Solver& solver) {
    solution_ = solver.solve(b(), x_.as<double>(), run_.stream(), heartbeat);
  }
  [[nodiscard]] device::Buffer& image_buffer() { return image_; }

 private:
  Run& run_;
  device::Buffer b_, x_, image_;
  std::unique_ptr<InnerProducts> products_;
  solvers::Solution solution_;
  std::string exchange_;
  bool launches_graphs_ = false;
  double norm_of_b_ = 0;
  std::string set_up_error_;
};

/// Checks the last solve.
class SolveValidation {
 public:
  /// Both must outlive it.
  SolveValidation(Run& run, SolveProblem& problem) : run_(run), problem_(problem) {}

  /// `error`: what the benchmark's checks have shown, which have left A x in the image. `thoroughly` compares elements
  /// with the reference operator, too, and looks at the error of the solution. Collective.
  Verdict verify(std::string error, bool thoroughly);
  /// The largest difference from the manufactured solution on any rank; nothing: not looked at.
  [[nodiscard]] std::optional<double> largest_error() const { return largest_error_; }

 private:
  Run& run_;
  SolveProblem& problem_;
  std::optional<double> largest_error_;
};

}  // namespace commlens

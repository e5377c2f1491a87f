// A preconditioner of V-cycles over polynomial orders (p-multigrid), in single precision (Lottes and Fischer, J. Sci.
// Comput. 24, 2005). Operators of the coarser levels are discretised anew on the same elements.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "solvers/chebyshev.hpp"
#include "solvers/coarse_solver.hpp"
#include "solvers/interpolation.hpp"
#include "solvers/level.hpp"

namespace commlens::solvers {

enum class Smoother { chebyshev_ras, ras, chebyshev_jacobi };
ENUM_NAMES(Smoother, {chebyshev_ras, "chebyshev-ras"}, {ras, "ras"}, {chebyshev_jacobi, "chebyshev-jacobi"});

class Multigrid {
 public:
  struct Options {
    std::vector<int> orders{7, 3, 1};  ///< descending; the first is that of `finest`, the last is 1
    Smoother smoother = Smoother::chebyshev_ras;
    std::size_t degree = 2;  ///< of the Chebyshev iteration
    Coarse coarse = Coarse::cg;
    std::size_t coarse_steps = 20;  ///< of Coarse::cg and Coarse::cg_replicated
    LevelOptions level;
  };

  /// Collective. What it is given must outlive it.
  Multigrid(const sem::FunctionSpace& finest, const Options& options, const Context& context,
            const Observation& observation);
  Multigrid(Multigrid&&) = delete;

  /// Queues x, an approximate solution of A x = b. Collective.
  void apply(const float* b, float* x, device::Stream& stream);

  /// Whether the host never waits in apply(), so that it can be part of a device::Graph.
  [[nodiscard]] bool enqueues() const;

  /// Queues one solve of the coarsest level, for the last right-hand side that it had. Collective.
  void solve_coarsest(device::Stream& stream);

  /// Of S A, for each level but the coarsest.
  [[nodiscard]] const std::vector<double>& spectral_radii() const { return spectral_radii_; }
  [[nodiscard]] std::string coarse_description() const { return coarse_->description(); }
  [[nodiscard]] double coarse_traffic(double of_operator) const { return coarse_->traffic(of_operator); }
  [[nodiscard]] std::size_t levels() const { return levels_.size(); }
  /// By level.
  [[nodiscard]] const sem::FunctionSpace& space(std::size_t level) const { return levels_.at(level)->space(); }

 private:
  /// What a level needs besides its operator; nothing of it on the coarsest.
  struct Smoothing {
    std::unique_ptr<Preconditioner> preconditioner;
    std::unique_ptr<Chebyshev> smoother;
    std::unique_ptr<Interpolation> to_coarser;
    device::Buffer change;  ///< of x, from the coarser levels
    std::string step;
  };

  std::unique_ptr<CoarseSolver> make_coarse(const Options& options, const Context& context);
  void make_smoother(std::size_t level, const Options& options, const Context& context);
  /// For the level's residual, with x = 0.
  void cycle(std::size_t level, float* x, device::Stream& stream);

  const Observation& observation_;
  std::vector<std::unique_ptr<sem::FunctionSpace>> coarser_spaces_;
  std::vector<std::unique_ptr<Level<float>>> levels_;
  std::vector<Smoothing> smoothing_;
  std::vector<device::Buffer> residuals_;  ///< of all levels, with ghosts
  std::vector<device::Buffer> x_;          ///< of all levels but the finest
  std::vector<double> spectral_radii_;
  std::unique_ptr<CoarseSolver> coarse_;
};

}  // namespace commlens::solvers

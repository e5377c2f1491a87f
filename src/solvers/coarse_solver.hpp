// The solve of a multigrid preconditioner's coarsest level, of order 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "sem/function_space.hpp"
#include "solvers/level.hpp"
#include "transport/context.hpp"

namespace commlens::solvers {

/// cg: a fixed number of steps of conjugate gradients with the diagonal as preconditioner, where the vectors lie. A
/// rank that is alone does them by one kernel on a GPU which has a thread for each unknown. cg_replicated: the same by
/// every rank for the whole mesh: one reduction of a vector for all messages of the steps. boomeramg: a V-cycle of
/// hypre's algebraic multigrid, on the host.
enum class Coarse { cg, cg_replicated, boomeramg };
ENUM_NAMES(Coarse, {cg, "cg"}, {cg_replicated, "cg-replicated"}, {boomeramg, "boomeramg"});

class CoarseSolver {
 public:
  virtual ~CoarseSolver() = default;
  /// Queues x, an approximate solution of A x = b. Collective.
  virtual void solve(const float* b, float* x, device::Stream& stream) = 0;
  /// Whether the host never waits in solve(), so that it can be part of a device::Graph.
  [[nodiscard]] virtual bool enqueues() const = 0;
  [[nodiscard]] virtual std::string description() const = 0;  ///< "20 steps of Jacobi CG"
  /// Bytes that a solve reads and writes at least, where the level's operator takes `of_operator` each time.
  [[nodiscard]] virtual double traffic(double of_operator) const = 0;
};

inline constexpr const char* coarse_step = "coarse solve";

/// The level must outlive it.
std::unique_ptr<CoarseSolver> make_coarse_cg(Level<float>& level, std::size_t steps, const Context& context,
                                             const Observation& observation);

/// The level must outlive it. Collective. For few ranks: each has the whole level in its memory.
std::unique_ptr<CoarseSolver> make_replicated_cg(Level<float>& level, const LevelOptions& options, std::size_t steps,
                                                 const Context& context, const Observation& observation);

/// Why BoomerAMG is not in this build; empty if it is.
std::string boomeramg_missing();
/// Throws Error in a build without hypre. The level must outlive it. Collective.
std::unique_ptr<CoarseSolver> make_boomeramg(Level<float>& level, const Context& context,
                                             const Observation& observation);

/// The assembled matrix of the coarsest level, of order 1, for an algebraic multigrid solver.
struct CoarseMatrix {
  struct Entry {
    std::int64_t row = 0;
    std::int64_t column = 0;
    double value = 0;
  };

  std::int64_t first_row = 0;  ///< rows are numbered over all ranks; this rank owns `rows` from here
  std::size_t rows = 0;        ///< in the order of the owned unknowns
  /// The contributions of this rank's elements, to rows of other ranks, too; entries of one place are to be added up.
  std::vector<Entry> entries;
};

/// Contributions smaller than this are left out: where elements are boxes, most couplings are rounding errors.
inline constexpr double smallest_entry = 5.96e-7;

/// Of an element with the vertices, by vertex: the operator of order 1, [8][8].
std::vector<double> element_matrix(const sem::Vertices& vertices);

/// `space` is of order 1. Collective.
CoarseMatrix coarse_matrix(const sem::FunctionSpace& space, const Context& context);

}  // namespace commlens::solvers

// Conjugate gradients without a preconditioner, with as few passes over the vectors as possible, because memory
// bandwidth limits it. Scalars stay on the device; the host reads them only now and then.
//
// `classical` is the algorithm of Hestenes and Stiefel (J. Res. NBS 49, 1952): three kernels and two reductions per
// iteration. `fused` is that of Chronopoulos and Gear (J. Comput. Appl. Math. 25, 1989): two kernels and one reduction,
// with more vector operations.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/enum_names.hpp"
#include "device/device.hpp"
#include "solvers/vector_space.hpp"
#include "transport/context.hpp"

namespace commlens::solvers {

enum class Solver { classical, fused };
ENUM_NAMES(Solver, {classical, "classical"}, {fused, "fused"});

/// Queues output = A input, combined over all ranks, and *energy += input . A input of this rank. What the
/// operator adds to (VectorSpace::added_from) holds zeros before.
using Apply = std::function<void(const double* input, double* output, double* energy, device::Stream& stream,
                                 device::Traversal traversal)>;

class ConjugateGradients {
 public:
  struct Limits {
    std::size_t iterations = 500;  ///< at most
    double tolerance = 1e-15;      ///< of the relative residual
    bool graphs = false;  ///< launch iterations as device::Graphs: nothing in them may wait on the host, and all solves
                          ///< must have the same x
  };

  /// For vectors in the context's memory. With several ranks its transport sums inner products.
  ConjugateGradients(Solver solver, const VectorSpace& space, const Limits& limits, Apply apply,
                     const Context& context);

  /// Solves A x = b, starting from x = 0. Collective. `heartbeat` is called whenever the host reads the residual: after
  /// four iterations, on a GPU after 50.
  Solution solve(const double* b, double* x, device::Stream& stream, const std::function<void()>& heartbeat = [] {});

  /// Of the last solve: b - A x as updated by the iteration.
  [[nodiscard]] const double* residual() const { return r_; }

  /// Bytes that the vector updates of an iteration read and write at least, apply() not included.
  static double traffic(Solver solver, const VectorSpace& space);
  /// Bytes that it allocates, at most.
  static double upper_bytes(double length, double iterations);

 private:
  /// Queues iterations first … end - 1.
  void iterate(std::size_t first, std::size_t end, double* x, device::Stream& stream);
  void begin(const double* b, double* x, device::Stream& stream);
  /// With so many steps of x: see UpdateSolution.
  void iterate_classical(std::size_t iteration, std::size_t steps, double* x, device::Stream& stream);
  void iterate_fused(std::size_t iteration, double* x, device::Stream& stream);
  void sum_over_ranks(double* values, std::size_t count, device::Stream& stream);
  /// After so many iterations. Waits for the stream.
  [[nodiscard]] Solution solution_after(std::size_t iterations, device::Stream& stream) const;

  Solver solver_;
  VectorSpace space_;
  Limits limits_;
  Apply apply_;
  transport::Transport& transport_;
  int ranks_;
  device::Buffer vectors_;
  device::Buffer scalars_;  ///< of all iterations: r . r and the energy; then all alphas
  double* r_ = nullptr;
  double* p_ = nullptr;                  ///< classical: the first of several
  double* q_ = nullptr;                  ///< A p; fused: A r
  double* s_ = nullptr;                  ///< fused: A p
  std::vector<device::Replay> replays_;  ///< one for the iterations between two readings of the residual
};

}  // namespace commlens::solvers

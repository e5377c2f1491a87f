// Conjugate gradients without a preconditioner, written for the memory's bandwidth: what can be done in one pass over
// the vectors is, and no number comes to the host before it is needed there.
//
// `classical` is Hestenes and Stiefel's (J. Res. NBS 49, 1952): three kernels and two reductions an iteration. `fused`
// is Chronopoulos and Gear's (J. Comput. Appl. Math. 25, 1989): two kernels and one reduction, and two vectors more.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "device/device.hpp"
#include "transport/transport.hpp"

namespace commlens::sem {

enum class Solver { classical, fused };

/// How vectors lie and what an inner product is: each unknown counts once in all ranks together.
struct VectorSpace {
  std::size_t length = 0;           ///< on this rank
  std::size_t counted = 0;          ///< without weights: the first so many
  const double* weights = nullptr;  ///< 1 over how often the unknown is stored, 0 for what is no unknown and stays 0;
                                    ///< in the vectors' memory
};

/// Queues output = A input, with everything combined, and *energy = input . A input of this rank. `output` holds zeros
/// if there are no weights.
using Apply = std::function<void(const double* input, double* output, double* energy, device::Stream& stream)>;

struct Solution {
  std::size_t iterations = 0;              ///< at least 1, also of a right-hand side that is 0
  std::vector<double> relative_residuals;  ///< |r| / |b| after each of them; 0 if b is
  bool converged = false;                  ///< the last one is no larger than the tolerance
};

class ConjugateGradients {
 public:
  struct Limits {
    std::size_t iterations = 500;  ///< at most
    double tolerance = 1e-15;      ///< of the relative residual
  };

  /// `allocate` gives bytes() in the vectors' memory. `transport` sums inner products, unless there is one rank only.
  ConjugateGradients(Solver solver, const VectorSpace& space, const Limits& limits, Apply apply,
                     transport::Transport& transport, int ranks,
                     const std::function<device::Buffer(std::size_t)>& allocate, device::Stream& stream);

  /// A x = b, from x = 0. Collective. `alive` is called now and then.
  Solution solve(const double* b, double* x, device::Stream& stream, const std::function<void()>& alive = [] {});

  /// Of the last solve: b - A x as the iteration has it.
  [[nodiscard]] const double* residual() const { return r_; }

  static double bytes(Solver solver, std::size_t length, const Limits& limits);
  /// Bytes that an iteration's updates must read and write, without what apply() does.
  static double traffic(Solver solver, std::size_t length);

 private:
  void begin(const double* b, double* x, device::Stream& stream);
  void iterate_classical(std::size_t iteration, double* x, device::Stream& stream);
  void iterate_fused(std::size_t iteration, double* x, device::Stream& stream);
  void sum_over_ranks(double* values, std::size_t count, device::Stream& stream);
  /// At what `iterations` have given. Waits.
  [[nodiscard]] Solution look(std::size_t iterations, device::Stream& stream) const;

  Solver solver_;
  VectorSpace space_;
  Limits limits_;
  Apply apply_;
  transport::Transport& transport_;
  int ranks_;
  device::Buffer vectors_;
  device::Buffer scratch_;
  device::Buffer scalars_;  ///< by iteration: r . r, and the energy; then every step length
  double* r_ = nullptr;
  double* p_ = nullptr;
  double* q_ = nullptr;  ///< A p; fused: A r
  double* s_ = nullptr;  ///< fused: A p
};

}  // namespace commlens::sem

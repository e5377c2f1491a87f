// Chebyshev iteration around a preconditioner S, as a smoother: it damps the errors that belong to the upper nine
// tenths of the eigenvalues of S A (Adams et al., J. Comput. Phys. 188, 2003; Phillips et al., Tuning spectral element
// preconditioners for parallel scalability on GPUs, PASC 2022).
#pragma once

#include <cstddef>
#include <string>

#include "solvers/level.hpp"
#include "transport/context.hpp"

namespace commlens::solvers {

class Chebyshev {
 public:
  struct Bounds {
    double least = 0;
    double largest = 0;

    /// From the largest eigenvalue of S A.
    static Bounds of(double spectral_radius) { return {0.1 * spectral_radius, 1.1 * spectral_radius}; }
  };

  /// With degree 0 it is one step of damped S. All that it is given must outlive it.
  Chebyshev(Level<float>& level, Preconditioner& preconditioner, std::size_t degree, Bounds bounds,
            const Context& context, const Observation& observation);

  /// Queues x = (the correction of residual = b), and residual = b - A x. The residual has room for ghosts. Collective.
  /// Needs degree + 1 applications of S and of A.
  void start(float* residual, float* x, device::Stream& stream);
  /// Queues x += change + (the correction of residual = b - A (x + change)); overwrites the residual. Collective. Needs
  /// one application of A less.
  void finish(float* residual, float* x, const float* change, device::Stream& stream);

  /// Bytes that it allocates, at most.
  static double upper_bytes(double length) { return 2 * length * sizeof(float) + 16 * 1024; }

 private:
  void smooth(float* residual, float* x, const float* change, bool from_zero, device::Stream& stream);

  Level<float>& level_;
  Preconditioner& preconditioner_;
  std::size_t degree_;
  Bounds bounds_;
  const Observation& observation_;
  std::string step_;
  device::Buffer vectors_;
  float* direction_;  ///< the next change of x
  float* smoothed_;   ///< S (b - A x); between steps zeros, where S adds
};

/// For the bounds: the largest absolute value of an eigenvalue of S A, after `steps` steps of Arnoldi's method from a
/// vector of random numbers that depends on the nodes' global ids alone. Collective; waits for the stream. For set-up:
/// it allocates steps + 2 vectors.
double spectral_radius(Level<float>& level, Preconditioner& preconditioner, std::size_t steps, const Context& context);

}  // namespace commlens::solvers

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

  /// Queues an improvement of x for A x = b, starting from 0 or from x. Collective. Needs degree + 1 applications of S,
  /// and degree of A, or one more where it does not start from 0.
  void smooth(const float* b, float* x, bool from_zero, device::Stream& stream);

  /// Bytes that it allocates, at most.
  static double upper_bytes(double length, double ghosts) { return (4 * length + ghosts) * sizeof(float) + 16 * 1024; }

 private:
  Level<float>& level_;
  Preconditioner& preconditioner_;
  std::size_t degree_;
  Bounds bounds_;
  const Observation& observation_;
  std::string step_;
  device::Buffer vectors_;
  float* direction_;  ///< the next change of x
  float* image_;      ///< S A d
  float* smoothed_;   ///< S (b - A x)
  float* residual_;   ///< b - A x, or A d; with ghosts
};

/// For the bounds: the largest absolute value of an eigenvalue of S A, after `steps` steps of Arnoldi's method from a
/// vector of random numbers that depends on the nodes' global ids alone. Collective; waits for the stream. For set-up:
/// it allocates steps + 2 vectors.
double spectral_radius(Level<float>& level, Preconditioner& preconditioner, std::size_t steps, const Context& context);

}  // namespace commlens::solvers

// The largest eigenvalue of a preconditioned operator, by Arnoldi's method: for the bounds of a Chebyshev smoother.
#pragma once

#include <cstddef>

#include "solvers/level.hpp"
#include "solvers/preconditioner.hpp"
#include "transport/context.hpp"

namespace commlens::solvers {

/// The largest absolute value of an eigenvalue of S A, after `steps` steps from a vector of random numbers that depends
/// on the nodes' global ids alone. Collective; waits for the stream. For set-up: it allocates steps + 2 vectors.
double spectral_radius(Level<float>& level, Preconditioner& preconditioner, std::size_t steps, const Context& context);

}  // namespace commlens::solvers

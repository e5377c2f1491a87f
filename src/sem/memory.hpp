// Upper estimates, for choosing sizes before a mesh is made.
#pragma once

#include "sem/conjugate_gradients.hpp"
#include "sem/partition.hpp"
#include "sem/poisson.hpp"

namespace commlens::sem {

/// Values that a rank sends to others in a gather-scatter: on no rank are there more.
double values_sent(const Partition& partition, int order);

/// What a rank has, as far as memory depends on it.
struct Load {
  double elements = 0;
  double nodes = 0;       ///< of all elements
  double length = 0;      ///< of a vector of the solver; 0 without a solver
  double iterations = 0;  ///< at most, of the solver
};

/// Bytes that make_poisson() and ConjugateGradients allocate together, at most.
double upper_bytes(const Load& load, Geometry geometry, Solver solver = Solver::classical);

}  // namespace commlens::sem

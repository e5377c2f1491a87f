// Upper estimates, for choosing sizes before a mesh is made.
#pragma once

#include "sem/partition.hpp"
#include "sem/poisson.hpp"

namespace commlens::sem {

/// Values that a rank sends to others in a gather-scatter: on no rank are there more.
double values_sent(const Partition& partition, int order);

/// What a rank has, as far as memory depends on it.
struct Load {
  double elements = 0;
  double nodes = 0;  ///< of all elements
};

/// Bytes that make_poisson() allocates for double, at most.
double upper_bytes(const Load& load, Geometry geometry, Storage storage);

}  // namespace commlens::sem

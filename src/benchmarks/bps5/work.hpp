// How much a solve computes and how much memory it must read and write.
#pragma once

#include <cstddef>

#include "benchmarks/bps5/problem.hpp"

namespace commlens::bps5 {

struct Work {
  double dof = 0;    ///< per rank on average, as nekRS counts: elements order^3
  double flops = 0;  ///< of a solve, likewise, in nekRS's way of counting: those in single precision count half
  double bytes = 0;  ///< of a solve, of this rank, if nothing stays in a cache between two kernels
};

/// Of the last solve.
Work work_of(const Problem& problem, int ranks);

}  // namespace commlens::bps5

// How much a solve computes and how much memory it must read and write.
#pragma once

#include <cstddef>

#include "benchmarks/bp5/problem.hpp"

namespace commlens::bp5 {

struct Work {
  double dof = 0;                  ///< per rank on average, as nekRS counts: elements order^3
  double flops_per_iteration = 0;  ///< likewise
  double flops_of_start = 0;       ///< before the first iteration
  double bytes_per_iteration = 0;  ///< of this rank

  [[nodiscard]] double flops(std::size_t iterations) const {
    return static_cast<double>(iterations) * flops_per_iteration + flops_of_start;
  }
};

Work work_of(const Problem& problem, int ranks);

}  // namespace commlens::bp5

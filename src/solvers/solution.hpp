// How an iteration ended.
#pragma once

#include <cstddef>
#include <vector>

namespace commlens::solvers {

struct Solution {
  std::size_t iterations = 0;              ///< at least 1, even if the right-hand side is 0
  std::vector<double> relative_residuals;  ///< |r| / |b| after each iteration; 0 if b is 0
  bool converged = false;                  ///< the last of them is at most the tolerance
  bool stagnated = false;                  ///< it ended because the residual no longer falls
};

}  // namespace commlens::solvers

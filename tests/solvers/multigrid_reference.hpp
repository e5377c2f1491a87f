// A V-cycle on the whole mesh, with its parts: Chebyshev polynomials, interpolation, and dense solves.
#pragma once

#include <cstddef>
#include <vector>

#include "reference.hpp"
#include "solvers/chebyshev.hpp"

namespace commlens::solvers::reference {

/// T_degree((theta - S A) / delta) e / T_degree(theta / delta), where theta is the middle of the bounds and delta half
/// of what is between them.
Vector chebyshev(const Operator& sa, const Chebyshev::Bounds& bounds, std::size_t degree, const Vector& e);

/// The values of the coarse function at the fine nodes; both on the same elements.
Vector interpolated(const Whole& coarse, const Whole& fine, const Vector& u);

/// What a level of a V-cycle has; all but the operator only if it is not the coarsest.
struct CycleLevel {
  const Whole& whole;
  Operator s;
  Chebyshev::Bounds bounds;
  std::size_t degree = 0;
};

/// x from the levels from `level` on, the coarsest of which is solved for exactly.
Vector v_cycle(const std::vector<CycleLevel>& levels, std::size_t level, const Vector& b);

}  // namespace commlens::solvers::reference

// The vectors of a rank, in which an unknown may be stored several times; and how an iteration on them ends.
#pragma once

#include <cstddef>
#include <vector>

#include "device/function.hpp"

namespace commlens::solvers {

/// The layout of vectors and their inner product, in which each unknown counts once over all ranks.
struct VectorSpace {
  std::size_t length = 0;           ///< on this rank
  std::size_t counted = 0;          ///< without weights: only elements 0 … counted - 1 count
  std::size_t added_from = 0;       ///< without weights: operators add to the elements added_from … length - 1 of their
                                    ///< output, which hold zeros before, and write the others
  const double* weights = nullptr;  ///< in the vectors' memory: 1 / (how often the unknown is stored); 0 for elements
                                    ///< that are not unknowns and stay 0
};

/// Squares and products of elements, weighted so that each unknown counts once: for kernels.
struct Weighing {
  const double* weights;
  std::size_t counted;

  explicit Weighing(const VectorSpace& space) : weights(space.weights), counted(space.counted) {}

  [[nodiscard]] COMMLENS_FUNCTION double weight(std::size_t i) const {
    if (weights != nullptr) return weights[i];
    return i < counted ? 1.0 : 0.0;
  }
  /// Also sets `value` to 0 where there is no unknown.
  COMMLENS_FUNCTION double square(double& value, std::size_t i) const {
    if (weights == nullptr) return i < counted ? value * value : 0.0;
    const double weight = weights[i];
    if (weight == 0) value = 0;
    return weight * value * value;
  }
};

/// How an iteration ended.
struct Solution {
  std::size_t iterations = 0;              ///< at least 1, even if the right-hand side is 0
  std::vector<double> relative_residuals;  ///< |r| / |b| after each iteration; 0 if b is 0
  bool converged = false;                  ///< the last of them is at most the tolerance
  bool stagnated = false;                  ///< it ended because the residual no longer falls
};

}  // namespace commlens::solvers

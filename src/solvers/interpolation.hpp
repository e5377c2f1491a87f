// Between two levels: interpolation at the GLL points of the finer one, and its transpose.
#pragma once

#include <string>
#include <vector>

#include "solvers/level.hpp"

namespace commlens::solvers {

/// The values of `from`'s Lagrange polynomials at the points of `to`: [point of to][polynomial].
std::vector<double> interpolation_matrix(const sem::Gll& from, const sem::Gll& to);

class Interpolation {
 public:
  /// Both must outlive it.
  Interpolation(Level<float>& coarse, Level<float>& fine, const Context& context, const Observation& observation);

  /// Queues fine = J coarse.
  void interpolate_to_fine(const float* coarse, float* fine, device::Stream& stream);
  /// Queues coarse = J^T (weights * fine), added up over elements and ranks. Collective.
  void restrict_to_coarse(const float* fine, float* coarse, device::Stream& stream);

 private:
  Level<float>& coarse_;
  Level<float>& fine_;
  const Observation& observation_;
  std::string interpolate_step_;
  std::string restrict_step_;
  device::Buffer up_;    ///< J
  device::Buffer down_;  ///< J^T
};

}  // namespace commlens::solvers

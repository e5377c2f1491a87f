// The diagonal of the operator as a preconditioner.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "solvers/level.hpp"

namespace commlens::solvers {

/// By node of this rank's elements, in the order of Mesh: the element's contribution to the diagonal of the operator.
std::vector<double> diagonal_of_elements(const sem::Mesh& mesh);

class Jacobi final : public Preconditioner {
 public:
  /// Collective. The level must outlive it.
  Jacobi(Level<float>& level, const Context& context, const Observation& observation);

  [[nodiscard]] std::size_t added_from() const override { return level_.length(); }
  void apply_to_zero(float* input, float* output, device::Stream& stream) override;
  [[nodiscard]] bool enqueues() const override { return true; }
  [[nodiscard]] const float* inverse_diagonal() const { return inverse_.as<float>(); }

 private:
  const Level<float>& level_;
  const Observation& observation_;
  std::string step_;
  device::Buffer inverse_;
};

}  // namespace commlens::solvers

// Restricted additive Schwarz on the whole mesh: each element's extended problem as Kronecker products, solved without
// eigenvectors.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "reference.hpp"
#include "solvers/fast_diagonalization.hpp"

namespace commlens::solvers::reference {

class Schwarz {
 public:
  explicit Schwarz(const Whole& whole);

  [[nodiscard]] Vector apply(const Vector& r) const;

 private:
  using Problems = std::array<Matrices, 3>;

  [[nodiscard]] double length_of(const sem::Extents& place, std::size_t axis) const;
  /// The unknown of each node of the extended element, Whole::fixed where it has none.
  [[nodiscard]] std::vector<std::size_t> extended(const sem::Extents& place) const;

  const Whole& whole_;
  std::vector<Problems> problems_;  ///< by element
  Vector weights_;
};

}  // namespace commlens::solvers::reference

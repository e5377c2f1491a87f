#include "solvers/fast_diagonalization.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

#include "solvers/dense.hpp"

namespace commlens::solvers {

namespace {

/// On the GLL points of [-1, 1]: D^T W D.
std::vector<double> reference_stiffness(const sem::Gll& gll) {
  const std::size_t n = gll.points.size();
  std::vector<double> stiffness(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t m = 0; m < n; ++m) {
        stiffness[i * n + j] += gll.weights[m] * gll.derivative[m * n + i] * gll.derivative[m * n + j];
      }
    }
  }
  return stiffness;
}

/// Adds the part of an element that has its node `first` at `at`, and `count` nodes from there.
struct Piece {
  std::size_t first;  ///< node of the element
  std::size_t count;
  std::size_t at;  ///< node of the extended problem
  double length;
};

void add(const Piece& piece, const sem::Gll& gll, const std::vector<double>& reference, Matrices& matrices) {
  const std::size_t n = gll.points.size();
  const std::size_t extended = matrices.mass.size();
  for (std::size_t i = 0; i < piece.count; ++i) {
    for (std::size_t j = 0; j < piece.count; ++j) {
      matrices.stiffness[(piece.at + i) * extended + piece.at + j] +=
          2 / piece.length * reference[(piece.first + i) * n + piece.first + j];
    }
    matrices.mass[piece.at + i] += piece.length / 2 * gll.weights[piece.first + i];
  }
}

/// An identity in place of what is no unknown.
void decouple(std::size_t node, Matrices& matrices) {
  const std::size_t n = matrices.mass.size();
  for (std::size_t other = 0; other < n; ++other) {
    matrices.stiffness[node * n + other] = 0;
    matrices.stiffness[other * n + node] = 0;
  }
  matrices.stiffness[node * n + node] = 1;
  matrices.mass[node] = 1;
}

}  // namespace

Matrices matrices_of(const sem::Gll& gll, const Lengths& lengths) {
  const std::size_t n = gll.points.size();
  const std::size_t extended = n + 2;
  const auto reference = reference_stiffness(gll);
  Matrices matrices{.stiffness = std::vector<double>(extended * extended), .mass = std::vector<double>(extended)};
  add({.first = 0, .count = n, .at = 1, .length = lengths.element}, gll, reference, matrices);
  if (lengths.before > 0) {
    add({.first = n - 2, .count = 2, .at = 0, .length = lengths.before}, gll, reference, matrices);
  } else {
    decouple(0, matrices);
    decouple(1, matrices);
  }
  if (lengths.after > 0) {
    add({.first = 0, .count = 2, .at = n, .length = lengths.after}, gll, reference, matrices);
  } else {
    decouple(n, matrices);
    decouple(n + 1, matrices);
  }
  return matrices;
}

/// With B^(-1/2) on both sides the problem is an ordinary one, because B is diagonal.
OneDimensional one_dimensional(const sem::Gll& gll, const Lengths& lengths) {
  Matrices matrices = matrices_of(gll, lengths);
  const std::size_t n = matrices.mass.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      matrices.stiffness[i * n + j] /= std::sqrt(matrices.mass[i] * matrices.mass[j]);
    }
  }
  SymmetricEigen eigen = symmetric_eigen(std::move(matrices.stiffness));
  OneDimensional result{.values = std::move(eigen.values), .vectors = std::vector<double>(n * n)};
  for (std::size_t node = 0; node < n; ++node) {
    for (std::size_t q = 0; q < n; ++q) {
      result.vectors[node * n + q] = eigen.vectors[q * n + node] / std::sqrt(matrices.mass[node]);
    }
  }
  return result;
}

}  // namespace commlens::solvers

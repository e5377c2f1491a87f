// Small dense eigenproblems of the set-up, by LAPACK. All matrices are stored column by column.
#pragma once

#include <complex>
#include <vector>

namespace commlens::solvers {

/// Of a symmetric matrix: eigenvalues in ascending order, and the eigenvectors, each of length 1, as columns.
struct SymmetricEigen {
  std::vector<double> values;
  std::vector<double> vectors;
};
/// Throws Error where LAPACK fails.
SymmetricEigen symmetric_eigen(std::vector<double> matrix);  ///< dsyev

/// Of any square matrix. Throws Error where LAPACK fails.
std::vector<std::complex<double>> eigenvalues(std::vector<double> matrix);  ///< dgeev

}  // namespace commlens::solvers

#include "solvers/dense.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "base/error.hpp"

// The Fortran routines: every LAPACK has them, and headers of C interfaces differ. The build defines how this LAPACK
// spells their names (cmake/Lapack.cmake).
extern "C" {
// NOLINTBEGIN(readability-identifier-naming)
void COMMLENS_DSYEV(const char* job, const char* triangle, const int* n, double* a, const int* lda, double* values,
                    double* work, const int* lwork, int* info, std::size_t, std::size_t);
void COMMLENS_DGEEV(const char* left, const char* right, const int* n, double* a, const int* lda, double* real,
                    double* imaginary, double* vl, const int* ldvl, double* vr, const int* ldvr, double* work,
                    const int* lwork, int* info, std::size_t, std::size_t);
// NOLINTEND(readability-identifier-naming)
}

namespace commlens::solvers {

namespace {

int size_of_square(const std::vector<double>& matrix) {
  return static_cast<int>(std::lround(std::sqrt(static_cast<double>(matrix.size()))));
}

void check(int info, const char* routine) {
  if (info != 0) throw Error(std::string(routine) + " of LAPACK failed with info = " + std::to_string(info));
}

}  // namespace

SymmetricEigen symmetric_eigen(std::vector<double> matrix) {
  const int n = size_of_square(matrix);
  std::vector<double> values(static_cast<std::size_t>(n));
  const int work_size = 34 * n;
  std::vector<double> work(static_cast<std::size_t>(work_size));
  int info = 0;
  COMMLENS_DSYEV("V", "L", &n, matrix.data(), &n, values.data(), work.data(), &work_size, &info, 1, 1);
  check(info, "dsyev");
  return {.values = std::move(values), .vectors = std::move(matrix)};
}

std::vector<std::complex<double>> eigenvalues(std::vector<double> matrix) {
  const int n = size_of_square(matrix);
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> real(size);
  std::vector<double> imaginary(size);
  const int work_size = 34 * n;
  std::vector<double> work(static_cast<std::size_t>(work_size));
  const int ldv = 1;
  int info = 0;
  COMMLENS_DGEEV("N", "N", &n, matrix.data(), &n, real.data(), imaginary.data(), nullptr, &ldv, nullptr, &ldv,
                 work.data(), &work_size, &info, 1, 1);
  check(info, "dgeev");
  std::vector<std::complex<double>> values;
  for (std::size_t i = 0; i < size; ++i) values.emplace_back(real[i], imaginary[i]);
  return values;
}

}  // namespace commlens::solvers

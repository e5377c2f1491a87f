// The largest eigenvalue of a preconditioned operator, against that of the dense matrix.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <string>
#include <vector>

#include "solver_fixture.hpp"
#include "solvers/chebyshev.hpp"
#include "solvers/dense.hpp"
#include "solvers/jacobi.hpp"
#include "solvers/schwarz.hpp"

namespace commlens::solvers {
namespace {

using reference::Operator;

double largest_eigenvalue(const Operator& apply, std::size_t size) {
  double largest = 0;
  for (const auto& value : eigenvalues(reference::matrix_of(apply, size).values)) {
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

Operator after_poisson(const Operator& s, const reference::Whole& whole) {
  return [s, &whole](const Vector& v) { return s(whole.apply(v)); };
}

/// The largest eigenvalue in the Krylov space of so many dimensions, from a vector that depends on the global ids.
double largest_in_krylov_space(const Operator& apply, const reference::Whole& whole, std::size_t dimensions) {
  std::vector<Vector> basis;
  Vector next;
  for (std::size_t i = 0; i < whole.unknowns(); ++i) next.push_back(sem::random_number(whole.id(i)));
  std::vector<Vector> images;
  for (std::size_t j = 0; j < dimensions; ++j) {
    for (int repetition = 0; repetition < 2; ++repetition) {
      for (const Vector& v : basis) next = reference::sum(next, -reference::product(v, next), v);
    }
    const double length = reference::norm(next);
    for (double& value : next) value /= length;
    basis.push_back(next);
    images.push_back(apply(next));
    next = images.back();
  }
  Vector projected;
  for (const Vector& image : images) {
    for (const Vector& v : basis) projected.push_back(reference::product(v, image));
  }
  double largest = 0;
  for (const auto& value : eigenvalues(projected)) largest = std::max(largest, std::abs(value));
  return largest;
}

/// Small matrices whose eigenvalues are known.
TEST(Dense, Eigenvalues) {
  // Column by column: [[2, -1], [1, 2]] has 2 + i and 2 - i.
  const auto pair = eigenvalues({2, 1, -1, 2});
  ASSERT_EQ(pair.size(), 2U);
  for (const auto& value : pair) {
    EXPECT_NEAR(value.real(), 2, 1e-14);
    EXPECT_NEAR(std::abs(value.imag()), 1, 1e-14);
  }
  const SymmetricEigen eigen = symmetric_eigen({2, 1, 1, 2});
  EXPECT_NEAR(eigen.values[0], 1, 1e-14);
  EXPECT_NEAR(eigen.values[1], 3, 1e-14);
  EXPECT_NEAR(eigen.vectors[0], -eigen.vectors[1], 1e-14) << "the first eigenvector is (1, -1) / sqrt(2)";
  EXPECT_NEAR(eigen.vectors[2], eigen.vectors[3], 1e-14);
}

class SpectralRadiusIn : public SolversIn {
 protected:
  /// Calls function(name, S A of the whole mesh, result of the steps) with either preconditioner.
  template <class Function>
  void for_each_preconditioner(const sem::Shape& shape, std::size_t steps, Function function) {
    Problem<float> problem(shape, context(), nobody);
    const reference::Whole& whole = problem.whole;
    Jacobi jacobi(problem.level, context(), nobody);
    function(text(shape) + ", Jacobi", whole, after_poisson(whole.jacobi(), whole),
             spectral_radius(problem.level, jacobi, steps, context()));
    Schwarz schwarz(problem.level, level_options(), context(), nobody);
    const reference::Schwarz dense(whole);
    const Operator apply = [&](const Vector& r) { return dense.apply(r); };
    function(text(shape) + ", Schwarz", whole, after_poisson(apply, whole),
             spectral_radius(problem.level, schwarz, steps, context()));
  }
};

TEST_P(SpectralRadiusIn, IsTheLargestEigenvalueWithFewerUnknownsThanSteps) {
  for (const sem::Shape& shape :
       {sem::Shape{.elements = {2, 2, 1}, .order = 2}, sem::Shape{.elements = {4, 1, 1}, .order = 2, .eps = 1}}) {
    for_each_preconditioner(
        shape, 30, [](const std::string& label, const reference::Whole& whole, const Operator& sa, double radius) {
          const double expected = largest_eigenvalue(sa, whole.unknowns());
          EXPECT_NEAR(radius, expected, 1e-5 * expected) << label;
        });
  }
}

TEST_P(SpectralRadiusIn, IsThatOfTheKrylovSpaceAfterTenSteps) {
  constexpr std::size_t steps = 10;
  for (const sem::Shape& shape :
       {sem::Shape{.elements = {3, 2, 2}, .order = 2}, sem::Shape{.elements = {2, 2, 2}, .order = 3, .eps = 1},
        sem::Shape{.elements = {4, 1, 1}, .order = 4}}) {
    for_each_preconditioner(
        shape, steps, [](const std::string& label, const reference::Whole& whole, const Operator& sa, double radius) {
          const double in_krylov_space = largest_in_krylov_space(sa, whole, steps);
          EXPECT_NEAR(radius, in_krylov_space, 1e-4 * in_krylov_space) << label;
          const double largest = largest_eigenvalue(sa, whole.unknowns());
          EXPECT_NEAR(radius, largest, 0.1 * largest) << label;
        });
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, SpectralRadiusIn, sem::memories, name_of);

}  // namespace
}  // namespace commlens::solvers

// The operator of a level and its diagonal, against element matrices of plain sums.
#include "solvers/level.hpp"

#include <cstddef>
#include <vector>

#include "solver_fixture.hpp"
#include "solvers/jacobi.hpp"

namespace commlens::solvers {
namespace {

using reference::expect_equal;

constexpr double accuracy_of_float = 5e-6;

class LevelIn : public SolversIn {
 protected:
  template <class Real>
  void expect_the_dense_operator(const sem::Shape& shape, const LevelOptions& options, double tolerance) {
    Problem<Real> problem(shape, context(), nobody, options);
    const Vector u = problem.whole.random(1);
    const auto input = vector<Real>(problem.whole.on(problem.space, u));
    const auto result = output<Real>(problem.space.length());
    for (int repetition = 0; repetition < 2; ++repetition) {
      problem.level.apply(input.template as<Real>(), result.template as<Real>(), *stream);
    }
    expect_equal(values_of<Real>(result, problem.space.length()),
                 problem.whole.on(problem.space, problem.whole.apply(u)), tolerance, text(shape));
  }
};

TEST_P(LevelIn, AppliesTheDenseOperator) {
  for (const int order : {1, 2, 3, 4, 7}) {
    for (const double eps : {0.3, 1.0}) {
      const sem::Shape shape{.elements = {3, 2, 2}, .order = order, .eps = eps};
      expect_the_dense_operator<double>(shape, level_options(), 1e-12);
      expect_the_dense_operator<float>(shape, level_options(), accuracy_of_float);
    }
  }
}

TEST_P(LevelIn, AppliesItWithoutOverlapAndWithEitherGeometry) {
  const sem::Shape shape{.elements = {9, 2, 3}, .order = 2};
  for (const bool overlap : {false, true}) {
    for (const auto geometry : all_values<sem::Geometry>()) {
      LevelOptions options = level_options(overlap);
      options.geometry = geometry;
      expect_the_dense_operator<double>(shape, options, 1e-12);
      expect_the_dense_operator<float>(shape, options, accuracy_of_float);
    }
  }
}

TEST_P(LevelIn, AddsOverRanks) {
  const sem::Shape shape{.elements = {3, 2, 2}, .order = 3};
  Problem<float> problem(shape, context(), nobody);
  const std::vector<float> ones(problem.space.length(), 1.0F);
  const auto counts = uploaded(ones);
  problem.level.add_over_ranks(counts.as<float>(), *stream);
  const auto multiplicity = downloaded<float>(counts);
  double owned = 0;
  for (const float count : multiplicity) owned += 1 / count;
  EXPECT_NEAR(world().sum_of_reals(owned), static_cast<double>(problem.whole.unknowns()), 1e-9)
      << "1 / (ranks that have it) adds up to 1 for every unknown";
}

/// At edges of elements, where products of two directions count; sums over elements may cancel them.
TEST(DiagonalOfElements, IsThatOfTheDenseMatrices) {
  for (const int order : {1, 2, 3, 7}) {
    const sem::Shape shape{.elements = {6, 2, 2}, .order = order};
    const sem::Mesh mesh(shape, sem::Partition(shape.elements, 1), 0);
    const auto computed = diagonal_of_elements(mesh);
    Vector expected;
    for (std::size_t element = 0; element < mesh.elements(); ++element) {
      const auto matrix = reference::element_matrix(mesh.gll(), mesh.vertices(element));
      for (std::size_t node = 0; node < matrix.n; ++node) expected.push_back(matrix.at(node, node));
    }
    expect_equal(computed, expected, 1e-13, text(shape));
  }
}

TEST_P(LevelIn, JacobiDividesByTheDenseDiagonal) {
  for (const int order : {1, 2, 3, 4, 7}) {
    for (const double eps : {0.3, 1.0}) {
      const sem::Shape shape{.elements = {3, 2, 2}, .order = order, .eps = eps};
      Problem<float> problem(shape, context(), nobody);
      Jacobi jacobi(problem.level, context(), nobody);
      EXPECT_EQ(jacobi.ghosts(), 0U);
      const std::size_t length = problem.space.length();
      const Vector u = problem.whole.on(problem.space, problem.whole.random(2));
      const Vector diagonal = problem.whole.on(problem.space, problem.whole.diagonal());
      const auto input = vector<float>(u);
      const auto result = output<float>(length);
      jacobi.apply_to_zero(input.as<float>(), result.as<float>(), *stream);
      const Vector computed = values_of<float>(result, length);
      const auto inverse = device::download(jacobi.inverse_diagonal(), length, *stream);
      for (std::size_t i = 0; i < length; ++i) {
        ASSERT_NEAR(static_cast<double>(inverse[i]) * diagonal[i], 1, 1e-5) << text(shape) << ", at " << i;
        ASSERT_NEAR(computed[i] * diagonal[i], u[i], 1e-5) << text(shape) << ", at " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, LevelIn, sem::memories, name_of);

}  // namespace
}  // namespace commlens::solvers

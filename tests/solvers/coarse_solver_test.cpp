// The coarsest level: its matrix, a fixed number of steps of conjugate gradients, and hypre's BoomerAMG.
#include "solvers/coarse_solver.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "solver_fixture.hpp"
#include "transport/mpi_calls.hpp"

namespace commlens::solvers {
namespace {

using reference::Matrix;
using reference::product;
using reference::sum;
using sem::Numbering;

TEST(ElementMatrix, IsTheOperatorOfOrderOne) {
  for (const double eps : {0.3, 1.0}) {
    const sem::Shape shape{.elements = {3, 2, 2}, .order = 1, .eps = eps};
    for (const std::size_t x : {0, 1, 2}) {
      const sem::Vertices vertices = sem::vertices_of(shape, {x, 1, 0});
      const auto matrix = element_matrix(vertices);
      reference::expect_equal(matrix, reference::element_matrix(sem::gll(1), vertices).values, 1e-13, text(shape));
      for (std::size_t i = 0; i < 8; ++i) {
        double row = 0;
        for (std::size_t j = 0; j < 8; ++j) {
          EXPECT_NEAR(matrix[i * 8 + j], matrix[j * 8 + i], 1e-14) << "symmetric";
          row += matrix[i * 8 + j];
        }
        EXPECT_NEAR(row, 0, 1e-13) << "constants are in the kernel";
        EXPECT_GT(matrix[i * 8 + i], 0);
      }
    }
  }
}

class CoarseMatrixIn : public SolversIn {
 protected:
  /// Over all ranks.
  static Vector sum_over_ranks(const Vector& values) {
    Vector result(values.size());
    transport::mpi_calls::allreduce(world(), values.data(), result.data(), values.size(), DataType::f64);
    return result;
  }
};

/// The rows of lower ranks come first, and are those of the unknowns that they own, in their order.
TEST_P(CoarseMatrixIn, AddsUpToTheDenseOperator) {
  for (const sem::Shape& shape :
       {sem::Shape{.elements = {4, 4, 3}, .order = 1}, sem::Shape{.elements = {4, 4, 3}, .order = 1, .eps = 1},
        sem::Shape{.elements = {3, 2, 2}, .order = 1}}) {
    const reference::Whole whole(shape);
    const sem::FunctionSpace space(sem::mesh_of(shape), context());
    const CoarseMatrix matrix = coarse_matrix(space, context());
    const std::size_t n = whole.unknowns();
    const auto owned = static_cast<std::int64_t>(matrix.rows);
    ASSERT_EQ(matrix.rows, space.numbering().owned);
    ASSERT_EQ(world().sum(owned), static_cast<std::int64_t>(n));
    Vector rows_of_ranks(static_cast<std::size_t>(ranks));
    rows_of_ranks[static_cast<std::size_t>(rank)] = static_cast<double>(owned);
    rows_of_ranks = sum_over_ranks(rows_of_ranks);
    double before = 0;
    for (int lower = 0; lower < rank; ++lower) before += rows_of_ranks[static_cast<std::size_t>(lower)];
    EXPECT_EQ(static_cast<double>(matrix.first_row), before);

    // By row: the unknown of the whole mesh.
    Vector unknowns(n);
    const auto ids = space.mesh().ids();
    std::map<std::size_t, std::size_t> mine;
    for (std::size_t node = 0; node < ids.size(); ++node) {
      const std::uint32_t unknown = space.numbering().of_node[node];
      if (unknown == Numbering::fixed) continue;
      const std::size_t place = unknown & ~Numbering::by_several;
      if (place < matrix.rows) mine[static_cast<std::size_t>(matrix.first_row) + place] = whole.unknown(ids[node]);
    }
    for (const auto& [row, unknown] : mine) unknowns[row] = static_cast<double>(unknown);
    unknowns = sum_over_ranks(unknowns);

    Matrix assembled(n);
    for (const CoarseMatrix::Entry& entry : matrix.entries) {
      EXPECT_GE(std::abs(entry.value), smallest_entry);
      ASSERT_LT(entry.row, static_cast<std::int64_t>(n));
      ASSERT_LT(entry.column, static_cast<std::int64_t>(n));
      const double row = unknowns[static_cast<std::size_t>(entry.row)];
      const double column = unknowns[static_cast<std::size_t>(entry.column)];
      assembled.at(static_cast<std::size_t>(row), static_cast<std::size_t>(column)) += entry.value;
    }
    const Vector sums = sum_over_ranks(assembled.values);
    const Matrix expected = whole.matrix();
    for (std::size_t i = 0; i < n * n; ++i) {
      // At most 8 elements contribute.
      ASSERT_NEAR(sums[i], expected.values[i], 8 * smallest_entry) << text(shape) << ", at " << i / n << ", " << i % n;
    }
    if (shape.eps == 1) {
      const auto entries = world().sum(static_cast<std::int64_t>(matrix.entries.size()));
      EXPECT_LT(entries, static_cast<std::int64_t>(64 * 48)) << "most couplings of boxes are left out";
      EXPECT_GT(entries, static_cast<std::int64_t>(n));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, CoarseMatrixIn, sem::memories, name_of);

constexpr sem::Shape coarse_shape{.elements = {4, 4, 3}, .order = 1};
constexpr sem::Shape two_unknowns{.elements = {3, 2, 2}, .order = 1};

/// The square of the energy norm of what x is off by.
double energy_of(const reference::Whole& whole, const Vector& solution, const Vector& x) {
  const Vector error = sum(solution, -1, x);
  return product(error, whole.apply(error));
}

class CoarseSolverIn : public SolversIn {
 protected:
  [[nodiscard]] std::unique_ptr<CoarseSolver> cg(Problem<float>& problem, std::size_t steps) {
    return make_coarse_cg(problem.level, steps, context(), nobody);
  }
  /// Nothing, where this build has no hypre.
  [[nodiscard]] std::unique_ptr<CoarseSolver> amg(Problem<float>& problem) {
    return boomeramg_missing().empty() ? make_boomeramg(problem.level, context(), nobody) : nullptr;
  }
  [[nodiscard]] Vector solved(Problem<float>& problem, CoarseSolver& solver, const Vector& b) {
    const auto right = vector<float>(problem.whole.on(problem.space, b));
    const auto x = output<float>(problem.space.length());
    for (int repetition = 0; repetition < 2; ++repetition) solver.solve(right.as<float>(), x.as<float>(), *stream);
    return problem.whole.gathered(problem.space, values_of<float>(x, problem.space.length()));
  }
};

TEST_P(CoarseSolverIn, CgDoesTheStepsOfTheTextbookUpToTheSolution) {
  Problem<float> problem(coarse_shape, context(), nobody);
  const reference::Whole& whole = problem.whole;
  const Vector solution = whole.random(9);
  const Vector b = whole.apply(solution);
  double energy_before = product(solution, b);
  for (const std::size_t steps : {1, 2, 3, 5, 8}) {
    const auto solver = cg(problem, steps);
    EXPECT_EQ(solver->description(), std::to_string(steps) + " steps of Jacobi CG");
    const Vector x = solved(problem, *solver, b);
    reference::expect_equal(x, reference::conjugate_gradients(whole.poisson(), whole.jacobi(), b, steps).x, 1e-4,
                            std::to_string(steps) + " steps");
    const double energy = energy_of(whole, solution, x);
    EXPECT_LT(energy, energy_before) << steps << " steps";
    energy_before = energy;
  }
  reference::expect_equal(solved(problem, *cg(problem, whole.unknowns()), b), solution, 1e-4,
                          "a step for each unknown");
}

/// By much more than a smoother does. The coarse unknowns, and so the result, depend on which rank has which unknown.
TEST_P(CoarseSolverIn, BoomerAmgReducesTheErrorOnAnyNumberOfRanks) {
  for (const double eps : {0.3, 1.0}) {
    Problem<float> problem({.elements = {4, 4, 4}, .order = 1, .eps = eps}, context(), nobody);
    const auto solver = amg(problem);
    if (!solver) GTEST_SKIP() << boomeramg_missing();
    EXPECT_NE(solver->description().find("BoomerAMG"), std::string::npos);
    const Vector solution = problem.whole.random(19);
    const Vector b = problem.whole.apply(solution);
    const double energy = energy_of(problem.whole, solution, solved(problem, *solver, b));
    EXPECT_LT(energy, product(solution, b) / 400) << "eps " << eps;
  }
}

/// With 4 ranks two of them own no row; more steps of conjugate gradients than are needed do not divide by 0.
TEST_P(CoarseSolverIn, NeedsNoRowsOnARankAndStaysAtTheSolution) {
  Problem<float> problem(two_unknowns, context(), nobody);
  ASSERT_EQ(problem.whole.unknowns(), 2U);
  const Vector solution{0.75, -2};
  const Vector b = problem.whole.apply(solution);
  reference::expect_equal(solved(problem, *cg(problem, 25), b), solution, 1e-5, "x");
  if (const auto solver = amg(problem)) {
    reference::expect_equal(solved(problem, *solver, b), solution, 0.02, "x");
  }
}

/// What is left after some steps is rounding, down to numbers that floats do not have: of many right sides some meet
/// it.
TEST_P(CoarseSolverIn, StaysAtTheSolutionWhateverIsLeft) {
  for (const sem::Shape& shape : {sem::Shape{.elements = {2, 2, 2}, .order = 1, .eps = 0.3}, two_unknowns}) {
    Problem<float> problem(shape, context(), nobody);
    const auto solver = cg(problem, 40);
    for (unsigned seed = 0; seed < 200; ++seed) {
      const Vector solution = problem.whole.random(seed);
      reference::expect_equal(solved(problem, *solver, problem.whole.apply(solution)), solution, 1e-5,
                              std::to_string(seed));
    }
  }
}

TEST_P(CoarseSolverIn, OfNothingIsNothing) {
  Problem<float> problem(coarse_shape, context(), nobody);
  const Vector zeros(problem.whole.unknowns());
  EXPECT_EQ(solved(problem, *cg(problem, 20), zeros), zeros);
  if (const auto solver = amg(problem)) {
    EXPECT_EQ(solved(problem, *solver, zeros), zeros);
  }
}

TEST_P(CoarseSolverIn, SaysWhyBoomerAmgIsMissing) {
  if (boomeramg_missing().empty()) GTEST_SKIP() << "it is in this build";
  Problem<float> problem(coarse_shape, context(), nobody);
  EXPECT_THROW((void)make_boomeramg(problem.level, context(), nobody), Error);
}

INSTANTIATE_TEST_SUITE_P(Memories, CoarseSolverIn, sem::memories, name_of);

}  // namespace
}  // namespace commlens::solvers

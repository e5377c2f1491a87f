// hypre's BoomerAMG as the coarsest level's solver.
#include <cmath>
#include <string>

#include "solver_fixture.hpp"
#include "solvers/coarse_solver.hpp"

namespace commlens::solvers {
namespace {

using reference::product;
using reference::sum;

class BoomerAmgIn : public SolversIn {
 protected:
  [[nodiscard]] Vector solved(Problem<float>& problem, const Vector& b) {
    const auto solver = make_boomeramg(problem.level, context(), nobody);
    EXPECT_NE(solver->description().find("BoomerAMG"), std::string::npos);
    const auto right = vector<float>(problem.whole.on(problem.space, b));
    const auto x = output<float>(problem.space.length());
    for (int repetition = 0; repetition < 2; ++repetition) solver->solve(right.as<float>(), x.as<float>(), *stream);
    return problem.whole.gathered(problem.space, values_of<float>(x, problem.space.length()));
  }
};

/// By much more than a smoother does. The coarse unknowns, and so the result, depend on which rank has which unknown.
TEST_P(BoomerAmgIn, ReducesTheErrorOnAnyNumberOfRanks) {
  if (!boomeramg_missing().empty()) GTEST_SKIP() << boomeramg_missing();
  for (const double eps : {0.3, 1.0}) {
    Problem<float> problem({.elements = {4, 4, 4}, .order = 1, .eps = eps}, context(), nobody);
    const Vector solution = problem.whole.random(19);
    const Vector b = problem.whole.apply(solution);
    const Vector x = solved(problem, b);
    const Vector error = sum(solution, -1, x);
    const double energy = std::sqrt(product(error, problem.whole.apply(error)));
    EXPECT_LT(energy, std::sqrt(product(solution, b)) / 20) << "eps " << eps;
  }
}

/// With 4 ranks two of them own no row.
TEST_P(BoomerAmgIn, NeedsNoRowsOnARank) {
  if (!boomeramg_missing().empty()) GTEST_SKIP() << boomeramg_missing();
  Problem<float> problem({.elements = {3, 2, 2}, .order = 1}, context(), nobody);
  ASSERT_EQ(problem.whole.unknowns(), 2U);
  const Vector solution{0.75, -2};
  reference::expect_equal(solved(problem, problem.whole.apply(solution)), solution, 0.02, "x");
}

TEST_P(BoomerAmgIn, OfNothingIsNothing) {
  if (!boomeramg_missing().empty()) GTEST_SKIP() << boomeramg_missing();
  Problem<float> problem({.elements = {4, 4, 4}, .order = 1}, context(), nobody);
  const Vector zeros(problem.whole.unknowns());
  EXPECT_EQ(solved(problem, zeros), zeros);
}

TEST_P(BoomerAmgIn, SaysWhyItIsMissing) {
  if (boomeramg_missing().empty()) GTEST_SKIP() << "it is in this build";
  Problem<float> problem({.elements = {4, 4, 4}, .order = 1}, context(), nobody);
  EXPECT_THROW((void)make_boomeramg(problem.level, context(), nobody), Error);
}

INSTANTIATE_TEST_SUITE_P(Memories, BoomerAmgIn, sem::memories, name_of);

}  // namespace
}  // namespace commlens::solvers

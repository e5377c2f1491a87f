// The coarsest level's conjugate gradients: a fixed number of steps.
#include <cmath>
#include <cstddef>
#include <string>

#include "solver_fixture.hpp"
#include "solvers/coarse_solver.hpp"

namespace commlens::solvers {
namespace {

using reference::product;
using reference::sum;

constexpr sem::Shape shape{.elements = {4, 4, 3}, .order = 1};

/// The textbook's conjugate gradients with the diagonal as preconditioner.
Vector steps_of(const reference::Whole& whole, const Vector& b, std::size_t steps) {
  const Vector diagonal = whole.diagonal();
  const auto scaled = [&](Vector r) {
    for (std::size_t i = 0; i < r.size(); ++i) r[i] /= diagonal[i];
    return r;
  };
  Vector x(b.size());
  Vector r = b;
  Vector p = scaled(r);
  for (std::size_t step = 0; step < steps; ++step) {
    const Vector q = whole.apply(p);
    const double rz = product(r, scaled(r));
    const double alpha = rz / product(p, q);
    x = sum(x, alpha, p);
    r = sum(r, -alpha, q);
    p = sum(scaled(r), product(r, scaled(r)) / rz, p);
  }
  return x;
}

class CoarseCgIn : public SolversIn {
 protected:
  [[nodiscard]] Vector solved(Problem<float>& problem, std::size_t steps, const Vector& b) {
    const auto solver = make_coarse_cg(problem.level, steps, context(), nobody);
    EXPECT_EQ(solver->description(), std::to_string(steps) + " steps of Jacobi CG");
    const auto right = vector<float>(problem.whole.on(problem.space, b));
    const auto x = output<float>(problem.space.length());
    for (int repetition = 0; repetition < 2; ++repetition) solver->solve(right.as<float>(), x.as<float>(), *stream);
    return problem.whole.gathered(problem.space, values_of<float>(x, problem.space.length()));
  }
};

TEST_P(CoarseCgIn, SolvesWithAStepForEveryUnknown) {
  Problem<float> problem(shape, context(), nobody);
  const Vector solution = problem.whole.random(9);
  reference::expect_equal(solved(problem, problem.whole.unknowns(), problem.whole.apply(solution)), solution, 1e-4,
                          "x");
}

TEST_P(CoarseCgIn, DoesTheStepsOfTheTextbook) {
  Problem<float> problem(shape, context(), nobody);
  const Vector solution = problem.whole.random(9);
  const Vector b = problem.whole.apply(solution);
  double energy_before = product(solution, b);
  for (const std::size_t steps : {1, 2, 3, 5, 8}) {
    const Vector x = solved(problem, steps, b);
    reference::expect_equal(x, steps_of(problem.whole, b, steps), 1e-4, std::to_string(steps) + " steps");
    const Vector error = sum(solution, -1, x);
    const double energy = product(error, problem.whole.apply(error));
    EXPECT_LT(energy, energy_before) << steps << " steps";
    energy_before = energy;
  }
}

/// More steps than are needed do not divide by 0.
TEST_P(CoarseCgIn, StaysAtTheSolution) {
  Problem<float> problem({.elements = {3, 2, 2}, .order = 1}, context(), nobody);
  ASSERT_EQ(problem.whole.unknowns(), 2U);
  const Vector solution{0.75, -2};
  reference::expect_equal(solved(problem, 25, problem.whole.apply(solution)), solution, 1e-5, "x");
}

TEST_P(CoarseCgIn, OfNothingIsNothing) {
  Problem<float> problem(shape, context(), nobody);
  const Vector zeros(problem.whole.unknowns());
  EXPECT_EQ(solved(problem, 20, zeros), zeros);
}

INSTANTIATE_TEST_SUITE_P(Memories, CoarseCgIn, sem::memories, name_of);

}  // namespace
}  // namespace commlens::solvers

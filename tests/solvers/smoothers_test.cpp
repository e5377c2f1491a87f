// The smoothers: Schwarz against the solutions of every element's extended problem, and Chebyshev's polynomials of S A.
#include <cstddef>
#include <string>

#include "solver_fixture.hpp"
#include "solvers/chebyshev.hpp"
#include "solvers/jacobi.hpp"
#include "solvers/schwarz.hpp"

namespace commlens::solvers {
namespace {

using reference::expect_equal;
using reference::Operator;
using reference::sum;

class SchwarzIn : public SolversIn {
 protected:
  void expect_the_reference(const sem::Shape& shape, const LevelOptions& options = level_options()) {
    Problem<float> problem(shape, context(), nobody, options);
    Schwarz schwarz(problem.level, options, context(), nobody);
    EXPECT_EQ(schwarz.ghosts() == 0, ranks == 1);
    const std::size_t length = problem.space.length();
    const Vector r = problem.whole.random(3);
    const auto input = vector<float>(problem.whole.on(problem.space, r), schwarz.ghosts());
    const auto result = output<float>(length);
    const std::size_t added_from = schwarz.added_from();
    for (int repetition = 0; repetition < 2; ++repetition) {
      stream->fill(result.as<float>() + added_from, 0, (length - added_from) * sizeof(float));
      schwarz.apply_to_zero(input.as<float>(), result.as<float>(), *stream);
    }
    const Vector expected = problem.whole.on(problem.space, reference::Schwarz(problem.whole).apply(r));
    expect_equal(values_of<float>(result, length), expected, 1e-5, text(shape));
    expect_equal(values_of<float>(input, length), problem.whole.on(problem.space, r), 1e-6, "the input is kept");
  }
};

TEST_P(SchwarzIn, SolvesTheExtendedProblemOfEveryElement) {
  for (const double eps : {0.3, 1.0}) {
    for (const int order : {2, 3, 4}) expect_the_reference({.elements = {3, 2, 2}, .order = order, .eps = eps});
  }
  expect_the_reference({.elements = {4, 1, 2}, .order = 7, .eps = 0.3});
}

TEST_P(SchwarzIn, SolvesItWithAndWithoutOverlap) {
  for (const bool overlap : {false, true}) {
    expect_the_reference({.elements = {9, 2, 3}, .order = 2}, level_options(overlap));
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, SchwarzIn, sem::memories, name_of);

class ChebyshevIn : public SolversIn {
 protected:
  /// `s` is what the preconditioner computes.
  void expect_the_polynomial(Problem<float>& problem, Preconditioner& preconditioner, const Operator& s,
                             const Chebyshev::Bounds& bounds) {
    const reference::Whole& whole = problem.whole;
    const Operator sa = [&](const Vector& v) { return s(whole.apply(v)); };
    const Vector solution = whole.random(4);
    for (const std::size_t degree : {0, 1, 2, 3}) {
      Chebyshev chebyshev(problem.level, preconditioner, degree, bounds, context(), nobody);
      for (const bool from_zero : {true, false}) {
        const Vector start = from_zero ? Vector(whole.unknowns()) : whole.random(5);
        // What x holds must not matter where it starts from 0.
        const auto x =
            from_zero ? output<float>(problem.space.length()) : vector<float>(whole.on(problem.space, start));
        const Vector change = from_zero ? Vector(whole.unknowns()) : whole.random(6);
        const auto change_here = vector<float>(whole.on(problem.space, change));
        const Vector error_before = sum(solution, -1, sum(start, 1, change));
        const auto residual =
            vector<float>(whole.on(problem.space, whole.apply(error_before)), preconditioner.ghosts());
        if (from_zero) {
          chebyshev.start(residual.as<float>(), x.as<float>(), *stream);
        } else {
          chebyshev.finish(residual.as<float>(), x.as<float>(), change_here.as<float>(), *stream);
        }
        const Vector error = reference::chebyshev(sa, bounds, degree + 1, error_before);
        if (from_zero) {
          expect_equal(values_of<float>(residual, problem.space.length()), whole.on(problem.space, whole.apply(error)),
                       1e-4, "the residual, degree " + std::to_string(degree));
        }
        expect_equal(values_of<float>(x, problem.space.length()), whole.on(problem.space, sum(solution, -1, error)),
                     2e-5, "degree " + std::to_string(degree) + (from_zero ? ", from 0" : ""));
      }
    }
  }
};

TEST_P(ChebyshevIn, MultipliesTheErrorByAPolynomialAroundSchwarz) {
  for (const double eps : {0.3, 1.0}) {
    Problem<float> problem({.elements = {3, 2, 2}, .order = 3, .eps = eps}, context(), nobody);
    Schwarz schwarz(problem.level, level_options(), context(), nobody);
    const reference::Schwarz expected(problem.whole);
    expect_the_polynomial(
        problem, schwarz, [&](const Vector& r) { return expected.apply(r); }, Chebyshev::Bounds::of(2.5));
  }
}

TEST_P(ChebyshevIn, MultipliesTheErrorByAPolynomialAroundJacobi) {
  for (const int order : {2, 7}) {
    Problem<float> problem({.elements = {3, 2, 2}, .order = order}, context(), nobody);
    Jacobi jacobi(problem.level, context(), nobody);
    expect_the_polynomial(problem, jacobi, problem.whole.jacobi(), {.least = 0.35, .largest = 3.1});
  }
}

TEST(Chebyshev, BoundsAreNineTenthsOfTheEigenvaluesAndATenthMore) {
  const Chebyshev::Bounds bounds = Chebyshev::Bounds::of(10);
  EXPECT_DOUBLE_EQ(bounds.least, 1);
  EXPECT_DOUBLE_EQ(bounds.largest, 11);
}

INSTANTIATE_TEST_SUITE_P(Memories, ChebyshevIn, sem::memories, name_of);

}  // namespace
}  // namespace commlens::solvers

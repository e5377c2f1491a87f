// The smoother multiplies the error by a Chebyshev polynomial of S A.
#include "solvers/chebyshev.hpp"

#include "schwarz_reference.hpp"
#include "solver_fixture.hpp"
#include "solvers/jacobi.hpp"
#include "solvers/schwarz.hpp"

namespace commlens::solvers {
namespace {

using reference::Operator;
using reference::sum;

/// T_degree((theta - S A) / delta) e / T_degree(theta / delta).
Vector polynomial(const Operator& sa, const Chebyshev::Bounds& bounds, std::size_t degree, const Vector& e) {
  const double theta = (bounds.largest + bounds.least) / 2;
  const double delta = (bounds.largest - bounds.least) / 2;
  const auto shifted = [&](const Vector& v) {
    Vector result = sum(v, -1 / theta, sa(v));
    for (double& value : result) value *= theta / delta;
    return result;
  };
  Vector before = e;
  Vector now = shifted(e);
  double scale_before = 1;
  double scale_now = theta / delta;
  for (std::size_t k = 1; k < degree; ++k) {
    Vector next = shifted(now);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = 2 * next[i] - before[i];
    const double scale_next = 2 * theta / delta * scale_now - scale_before;
    before = std::move(now);
    now = std::move(next);
    scale_before = scale_now;
    scale_now = scale_next;
  }
  for (double& value : now) value /= scale_now;
  return now;
}

class ChebyshevIn : public SolversIn {
 protected:
  /// `s` is what the preconditioner computes.
  void expect_the_polynomial(Problem<float>& problem, Preconditioner& preconditioner, const Operator& s,
                             const Chebyshev::Bounds& bounds) {
    const reference::Whole& whole = problem.whole;
    const Operator sa = [&](const Vector& v) { return s(whole.apply(v)); };
    const Vector solution = whole.random(4);
    const auto b = vector<float>(whole.on(problem.space, whole.apply(solution)));
    for (const std::size_t degree : {0, 1, 2, 3}) {
      Chebyshev chebyshev(problem.level, preconditioner, degree, bounds, context(), nobody);
      for (const bool from_zero : {true, false}) {
        const Vector start = from_zero ? Vector(whole.unknowns()) : whole.random(5);
        // What x holds must not matter where it starts from 0.
        const auto x =
            from_zero ? output<float>(problem.space.length()) : vector<float>(whole.on(problem.space, start));
        chebyshev.smooth(b.as<float>(), x.as<float>(), from_zero, *stream);
        const Vector error = polynomial(sa, bounds, degree + 1, sum(solution, -1, start));
        reference::expect_equal(values_of<float>(x, problem.space.length()),
                                whole.on(problem.space, sum(solution, -1, error)), 2e-5,
                                "degree " + std::to_string(degree) + (from_zero ? ", from 0" : ""));
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
    const Vector diagonal = problem.whole.diagonal();
    const Operator divide = [&](Vector r) {
      for (std::size_t i = 0; i < r.size(); ++i) r[i] /= diagonal[i];
      return r;
    };
    expect_the_polynomial(problem, jacobi, divide, {.least = 0.35, .largest = 3.1});
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

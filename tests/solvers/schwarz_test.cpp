// The Schwarz smoother, against the solutions of every element's extended problem.
#include "solvers/schwarz.hpp"

#include <cstddef>

#include "schwarz_reference.hpp"
#include "solver_fixture.hpp"

namespace commlens::solvers {
namespace {

using reference::expect_equal;

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
    for (int repetition = 0; repetition < 2; ++repetition) {
      schwarz.apply(input.as<float>(), result.as<float>(), *stream);
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

}  // namespace
}  // namespace commlens::solvers

// Conjugate gradients for diagonal matrices, whose solutions are known.
#include "solvers/conjugate_gradients.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "reference.hpp"
#include "sem/problem.hpp"

namespace commlens::solvers {
namespace {

using sem::memories;
using sem::random_number;

/// Multiplies by a diagonal matrix; without weights the product is added to the output. Returns input . A input, in
/// which each unknown counts once.
struct Multiply {
  const double* diagonal;
  const double* weights;
  const double* input;
  double* output;

  COMMLENS_FUNCTION double operator()(std::size_t i) const {
    const double product = diagonal[i] * input[i];
    output[i] = weights == nullptr ? output[i] + product : product;
    return (weights == nullptr ? 1.0 : weights[i]) * product * input[i];
  }
};

/// A diagonal matrix and a right-hand side. Rank i mod ranks has unknown i, so that some ranks may have none.
struct System {
  Vector diagonal;
  Vector b;
};

struct Outcome {
  Solution solution;
  Vector x;         ///< of this rank
  Vector residual;  ///< likewise
};

/// The elements of this rank.
Vector mine(const Vector& all) {
  Vector part;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (static_cast<int>(i % static_cast<std::size_t>(world().size())) == world().rank()) part.push_back(all[i]);
  }
  return part;
}

/// |r| / |b| after each iteration of the textbook's.
Vector residuals_of(const System& system, std::size_t iterations) {
  const auto multiply = [&](Vector v) {
    for (std::size_t i = 0; i < v.size(); ++i) v[i] *= system.diagonal[i];
    return v;
  };
  const auto nothing = [](const Vector& r) { return r; };
  return reference::conjugate_gradients(multiply, nothing, system.b, iterations).relative_residuals;
}

/// The residual vector is that of x.
void expect_residual(const Outcome& outcome, const System& system, double tolerance) {
  const Vector b = mine(system.b);
  const Vector diagonal = mine(system.diagonal);
  for (std::size_t i = 0; i < b.size(); ++i) {
    ASSERT_NEAR(outcome.residual[i], b[i] - diagonal[i] * outcome.x[i], tolerance);
  }
}

class ConjugateGradientsIn : public InPlace {
 protected:
  /// All vectors have the elements of this rank. With `weights` several elements may have one unknown.
  [[nodiscard]] Outcome solve(Solver solver, const Vector& diagonal, const Vector& b,
                              const ConjugateGradients::Limits& limits, const Vector& weights = {}) {
    const auto on_device = uploaded(diagonal);
    const auto weighted = uploaded(weights);
    const auto right_hand_side = uploaded(b);
    const auto x = uploaded(Vector(b.size(), std::numeric_limits<double>::quiet_NaN()));
    const double* const weights_or_none = weights.empty() ? nullptr : weighted.as<double>();
    const VectorSpace space{.length = b.size(), .counted = b.size(), .weights = weights_or_none};
    std::size_t calls = 0;
    ConjugateGradients iteration(
        solver, space, limits,
        [&, without = without_energy_](const double* input, double* output, double* energy, device::Stream& on,
                                       device::Traversal traversal) {
          device::launch_unordered_sum(on, b.size(), energy,
                                       Multiply{on_device.as<double>(), weights_or_none, input, output}, traversal);
          if (calls++ % limits.iterations == without) on.fill(energy, 0, sizeof *energy);
        },
        context());
    (void)iteration.solve(right_hand_side.as<double>(), x.as<double>(), *stream);
    const Solution solution = iteration.solve(right_hand_side.as<double>(), x.as<double>(), *stream);  // a second time
    return {solution, downloaded<double>(x), device::download(iteration.residual(), b.size(), *stream)};
  }

  [[nodiscard]] Outcome solve(Solver solver, const System& system, const ConjugateGradients::Limits& limits) {
    return solve(solver, mine(system.diagonal), mine(system.b), limits);
  }
  std::optional<std::size_t> without_energy_;  ///< the iteration in which the operator's energy is 0

  /// Looks at what each solver gives.
  void expect_of_each(const System& system, const ConjugateGradients::Limits& limits,
                      const std::function<void(const Outcome&)>& check) {
    for (const Solver solver : all_values<Solver>()) {
      SCOPED_TRACE(name(solver));
      check(solve(solver, system, limits));
    }
  }
};

void expect_solved(const Outcome& outcome, const System& system, double tolerance) {
  const Vector diagonal = mine(system.diagonal);
  const Vector b = mine(system.b);
  for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(outcome.x[i], b[i] / diagonal[i], tolerance) << i;
}

System random_system(std::size_t n) {
  System system;
  for (std::size_t i = 0; i < n; ++i) {
    system.diagonal.push_back(1.1 + random_number(static_cast<std::int64_t>(i)));
    system.b.push_back(random_number(-1 - static_cast<std::int64_t>(i)));
  }
  return system;
}

TEST_P(ConjugateGradientsIn, GoesTheWayOfTheTextbook) {
  const System system = random_system(1009);
  const Vector expected = residuals_of(system, 12);
  expect_of_each(system, {.iterations = 12, .tolerance = 0}, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.solution.iterations, 12U);
    EXPECT_FALSE(outcome.solution.converged);
    ASSERT_EQ(outcome.solution.relative_residuals.size(), 12U);
    for (std::size_t k = 0; k < 12; ++k) {
      EXPECT_NEAR(outcome.solution.relative_residuals[k], expected[k], 1e-10 * expected[k]) << k;
    }
  });
}

/// On a GPU the second solve launches graphs.
TEST_P(ConjugateGradientsIn, GoesTheSameWayWithGraphs) {
  if (stream->on_gpu() && ranks > 1 && !context().transport.enqueues()) GTEST_SKIP() << "the transport waits";
  const System system = random_system(1009);
  for (const Solver solver : all_values<Solver>()) {
    const Outcome kernels = solve(solver, system, {.iterations = 73, .tolerance = 1e-6});
    const Outcome graphs = solve(solver, system, {.iterations = 73, .tolerance = 1e-6, .graphs = true});
    EXPECT_TRUE(graphs.solution.converged);
    EXPECT_EQ(graphs.solution.iterations, kernels.solution.iterations);
    for (std::size_t i = 0; i < kernels.x.size(); ++i) EXPECT_NEAR(graphs.x[i], kernels.x[i], 1e-10) << name(solver);
  }
}

/// There are more iterations than a GPU does between two checks of the residual, and the last one is not at a check.
TEST_P(ConjugateGradientsIn, EndsAtTheToleranceAndChangesNothingAfterwards) {
  const System system = random_system(1009);
  const Vector expected = residuals_of(system, 100);
  constexpr double tolerance = 1e-6;
  std::size_t needed = 1;
  while (expected[needed - 1] > tolerance) ++needed;
  ASSERT_GT(needed, 10U);
  ASSERT_NE(needed % 50, 0U);
  expect_of_each(system, {.iterations = 500, .tolerance = tolerance}, [&](const Outcome& outcome) {
    EXPECT_TRUE(outcome.solution.converged);
    EXPECT_EQ(outcome.solution.iterations, needed);
    ASSERT_EQ(outcome.solution.relative_residuals.size(), outcome.solution.iterations);
    EXPECT_LE(outcome.solution.relative_residuals.back(), tolerance);
    expect_residual(outcome, system, 1e-13);
    const double squares = reference::product(outcome.residual, outcome.residual);
    const double residual = std::sqrt(world().sum_of_reals(squares)) / reference::norm(system.b);
    EXPECT_NEAR(residual, outcome.solution.relative_residuals.back(), 1e-12 * residual);
  });
}

/// x is not updated in every iteration; at the end, wherever that is, it has all steps.
TEST_P(ConjugateGradientsIn, EndsWithEveryStep) {
  const System system = random_system(1009);
  for (const std::size_t iterations : {1, 2, 3, 4, 5, 49, 50, 51, 52}) {
    expect_of_each(system, {.iterations = iterations, .tolerance = 0}, [&](const Outcome& outcome) {
      ASSERT_EQ(outcome.solution.iterations, iterations);
      expect_residual(outcome, system, 1e-12);
    });
  }
}

/// After the first step the residual is exactly half of b.
TEST_P(ConjugateGradientsIn, EndsExactlyAtTheTolerance) {
  const System system{.diagonal = {1, 3}, .b = {1, 1}};
  for (const Solver solver : all_values<Solver>()) {
    const Outcome at = solve(solver, system, {.iterations = 70, .tolerance = 0.5});
    EXPECT_EQ(at.solution.iterations, 1U) << name(solver);
    EXPECT_EQ(at.solution.relative_residuals, Vector{0.5});
    EXPECT_EQ(at.x, mine({0.5, 0.5}));
    EXPECT_EQ(at.residual, mine({0.5, -0.5}));
    const Outcome below = solve(solver, system, {.iterations = 70, .tolerance = std::nextafter(0.5, 0.0)});
    EXPECT_EQ(below.solution.iterations, 2U) << name(solver);
    EXPECT_LT(below.solution.relative_residuals.back(), 1e-15);
    expect_solved(below, system, 1e-15);
  }
}

TEST_P(ConjugateGradientsIn, NeedsAnIterationForEveryEigenvalue) {
  System system;
  for (int i = 0; i < 300; ++i) {
    system.diagonal.push_back(1 + i % 3);
    system.b.push_back(1 + i % 7);
  }
  expect_of_each(system, {.iterations = 100, .tolerance = 1e-12}, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.solution.iterations, 3U);
    expect_solved(outcome, system, 1e-12);
  });
}

TEST_P(ConjugateGradientsIn, SolvesForOneUnknownAtOnce) {
  const System system{.diagonal = {4}, .b = {3}};  // on rank 0; other ranks have none
  expect_of_each(system, {.iterations = 60, .tolerance = 1e-15}, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.solution.iterations, 1U);
    EXPECT_EQ(outcome.solution.relative_residuals, Vector{0});
    EXPECT_TRUE(outcome.solution.converged);
    EXPECT_EQ(outcome.x, mine({0.75}));
  });
}

TEST_P(ConjugateGradientsIn, OfNothingIsNothing) {
  for (const System& system : {System{}, System{.diagonal = {1, 2, 3, 4, 5}, .b = {0, 0, 0, 0, 0}}}) {
    expect_of_each(system, {.iterations = 60, .tolerance = 0}, [&](const Outcome& outcome) {
      EXPECT_EQ(outcome.solution.iterations, 1U);
      EXPECT_EQ(outcome.solution.relative_residuals, Vector{0});
      EXPECT_TRUE(outcome.solution.converged);
      EXPECT_EQ(outcome.x, mine(system.b));
    });
  }
}

/// If the matrix is not positive definite, the solution does not change, and nothing becomes infinite.
TEST_P(ConjugateGradientsIn, StaysWhereItIsWithoutAnEnergy) {
  const System system{.diagonal = {0, 0, 0}, .b = {1, 2, 3}};
  expect_of_each(system, {.iterations = 3, .tolerance = 1e-3}, [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.solution.relative_residuals, (Vector{1, 1, 1}));
    EXPECT_FALSE(outcome.solution.converged);
    EXPECT_EQ(outcome.x, mine({0, 0, 0}));
  });
}

/// Iterations that are queued before the host reads the residual do not resume.
TEST_P(ConjugateGradientsIn, StaysEndedAfterAnEnergyOfZero) {
  const System system = random_system(1009);
  const ConjugateGradients::Limits limits{.iterations = 4, .tolerance = 0};
  for (const Solver solver : all_values<Solver>()) {
    without_energy_ = std::nullopt;
    const Outcome once = solve(solver, system, {.iterations = 1, .tolerance = 0});
    without_energy_ = 1;
    const Outcome ended = solve(solver, system, limits);
    reference::expect_equal(ended.x, once.x, 1e-14, std::string(name(solver)));
    reference::expect_equal(ended.residual, once.residual, 1e-14, std::string(name(solver)));
  }
}

/// Every rank has the first unknown twice, a second one of its own, and an element without an unknown, with b = 99.
TEST_P(ConjugateGradientsIn, CountsEveryUnknownOnceByItsWeight) {
  const double copies = 2.0 * ranks;
  const Vector weights{1 / copies, 1 / copies, 1, 0};
  const Vector diagonal{2, 2, 5, 3};
  const Vector b{3, 3, 1, 99};
  System once{.diagonal = {2}, .b = {3}};
  for (int each = 0; each < ranks; ++each) {
    once.diagonal.push_back(5);
    once.b.push_back(1);
  }
  const double expected = residuals_of(once, 1).front();
  for (const Solver solver : all_values<Solver>()) {
    const Outcome outcome = solve(solver, diagonal, b, {.iterations = 20, .tolerance = 1e-13}, weights);
    EXPECT_NEAR(outcome.solution.relative_residuals.front(), expected, 1e-13) << name(solver);
    EXPECT_EQ(outcome.solution.iterations, 2U) << name(solver);
    EXPECT_NEAR(outcome.x[0], 1.5, 1e-14);
    EXPECT_EQ(outcome.x[0], outcome.x[1]);
    EXPECT_NEAR(outcome.x[2], 0.2, 1e-14);
    EXPECT_EQ(outcome.x[3], 0) << "what is no unknown stays 0";
    EXPECT_EQ(outcome.residual[3], 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, ConjugateGradientsIn, memories, name_of);

}  // namespace
}  // namespace commlens::solvers

// FGMRES, against the least residuals over the spaces of its corrections, found by orthogonalization alone.
#include "solvers/fgmres.hpp"

#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "solver_fixture.hpp"
#include "solvers/jacobi.hpp"

namespace commlens::solvers {
namespace {

using reference::norm;
using reference::Operator;
using reference::product;
using reference::sum;
using reference::Whole;

constexpr sem::Shape fgmres_shape{.elements = {3, 2, 2}, .order = 3};

/// Twice orthogonal to the basis, with length 1.
Vector orthogonal(Vector v, const std::vector<Vector>& basis) {
  for (int repetition = 0; repetition < 2; ++repetition) {
    for (const Vector& q : basis) v = sum(v, -product(q, v), q);
  }
  const double length = norm(v);
  for (double& value : v) value /= length;
  return v;
}

/// |r| / |b| after each iteration.
Vector least_residuals(const Whole& whole, const std::function<Vector(const Vector&, std::size_t)>& precondition,
                       const Vector& b, std::size_t restart, std::size_t iterations) {
  Vector norms;
  Vector r = b;
  while (norms.size() < iterations) {
    std::vector<Vector> krylov{orthogonal(r, {})};
    std::vector<Vector> images;
    for (std::size_t j = 0; j < restart && norms.size() < iterations; ++j) {
      const Vector w = whole.apply(precondition(krylov.back(), norms.size()));
      images.push_back(orthogonal(w, images));
      r = sum(r, -product(images.back(), r), images.back());
      norms.push_back(norm(r) / norm(b));
      krylov.push_back(orthogonal(w, krylov));
    }
  }
  return norms;
}

class FgmresIn : public SolversIn {
 protected:
  void SetUp() override {
    SolversIn::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    problem_.emplace(fgmres_shape, context(), nobody);
    in_float_.emplace(problem_->space, level_options(), context(), nobody);
    jacobi_.emplace(*in_float_, context(), nobody);
  }

  [[nodiscard]] const Whole& whole() const { return problem_->whole; }
  [[nodiscard]] Problem<double>& problem() { return *problem_; }

  /// Of all unknowns.
  struct Outcome {
    Solution solution;
    Vector x;
    std::size_t heartbeats = 0;
  };
  /// Solves twice: the second solve must not depend on the first.
  Outcome solve(const Fgmres::Precondition& precondition, const Vector& b, const Fgmres::Options& options) {
    Fgmres fgmres(problem_->level, precondition, options, context(), nobody);
    const auto right = vector<double>(whole().on(problem_->space, b));
    const auto x = output<double>(problem_->space.length());
    Outcome outcome;
    for (int repetition = 0; repetition < 2; ++repetition) {
      outcome.heartbeats = 0;
      outcome.solution = fgmres.solve(right.as<double>(), x.as<double>(), *stream, [&] { ++outcome.heartbeats; });
    }
    outcome.x = whole().gathered(problem_->space, values_of<double>(x, problem_->space.length()));
    EXPECT_EQ(outcome.solution.relative_residuals.size(), outcome.solution.iterations);
    EXPECT_EQ(outcome.heartbeats, outcome.solution.iterations);
    return outcome;
  }

  [[nodiscard]] Fgmres::Precondition jacobi() {
    return [this](const float* input, float* output, device::Stream& on) {
      // The preconditioner reads only.
      jacobi_->apply_to_zero(const_cast<float*>(input), output, on);
    };
  }
  [[nodiscard]] std::size_t bytes() const { return problem_->space.length() * sizeof(float); }

  /// |b - A x| / |b|.
  [[nodiscard]] double residual_of(const Vector& x, const Vector& b) const {
    return norm(sum(b, -1, whole().apply(x))) / norm(b);
  }

 private:
  std::optional<Problem<double>> problem_;
  std::optional<Level<float>> in_float_;
  std::optional<Jacobi> jacobi_;
};

void expect_residuals(const Solution& solution, const Vector& expected) {
  ASSERT_EQ(solution.relative_residuals.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    EXPECT_NEAR(solution.relative_residuals[k], expected[k], 1e-4 * expected[k]) << "iteration " << k;
  }
}

TEST_P(FgmresIn, HasTheLeastResidualsAlsoWhereItRestarts) {
  const Vector b = whole().random(10);
  for (const std::size_t restart : {5, 9, 30}) {
    const Outcome outcome = solve(jacobi(), b, {.restart = restart, .iterations = 23, .tolerance = 0});
    const auto divide = [dense = whole().jacobi()](const Vector& v, std::size_t) { return dense(v); };
    const auto expected = least_residuals(whole(), divide, b, restart, 23);
    EXPECT_LT(expected.back(), restart == 30 ? 0.01 : 1.0);  // it converges
    expect_residuals(outcome.solution, expected);
    EXPECT_FALSE(outcome.solution.converged);
    EXPECT_FALSE(outcome.solution.stagnated);
    EXPECT_NEAR(residual_of(outcome.x, b), expected.back(), 1e-4 * expected.back()) << "restart " << restart;
  }
}

/// The second solve of each launches graphs on a GPU.
TEST_P(FgmresIn, HasTheSameResidualsWithGraphs) {
  if (stream->on_gpu() && ranks > 1 && !context().transport.enqueues()) GTEST_SKIP() << "the transport waits";
  const Vector b = whole().random(10);
  const Outcome outcome = solve(jacobi(), b, {.restart = 7, .iterations = 18, .tolerance = 0, .graphs = true});
  const Outcome kernel_by_kernel = solve(jacobi(), b, {.restart = 7, .iterations = 18, .tolerance = 0});
  EXPECT_EQ(outcome.solution.iterations, 18U);
  expect_residuals(outcome.solution, kernel_by_kernel.solution.relative_residuals);
  EXPECT_NEAR(residual_of(outcome.x, b), outcome.solution.relative_residuals.back(),
              1e-4 * outcome.solution.relative_residuals.back());
}

/// Every other application does nothing.
TEST_P(FgmresIn, TakesAPreconditionerThatChanges) {
  const Vector b = whole().random(11);
  std::size_t calls = 0;
  const Outcome outcome = solve(
      [&](const float* input, float* output, device::Stream& on) {
        calls++ % 2 == 0 ? jacobi()(input, output, on) : on.copy(output, input, bytes());
      },
      b, {.restart = 30, .iterations = 18, .tolerance = 0});
  const auto expected = least_residuals(
      whole(), [&](const Vector& v, std::size_t k) { return k % 2 == 0 ? whole().jacobi()(v) : v; }, b, 30, 18);
  expect_residuals(outcome.solution, expected);
  EXPECT_NEAR(residual_of(outcome.x, b), expected.back(), 1e-4 * expected.back());
}

/// Also where that is less than the rounding of the basis.
TEST_P(FgmresIn, EndsAtTheTolerance) {
  const Vector b = whole().random(13);
  for (const std::size_t restart : {7, 30, 90}) {
    for (const double tolerance : {1e-8, 1e-13}) {
      const Outcome outcome = solve(jacobi(), b, {.restart = restart, .iterations = 500, .tolerance = tolerance});
      const Solution& solution = outcome.solution;
      EXPECT_TRUE(solution.converged);
      EXPECT_FALSE(solution.stagnated);
      EXPECT_LT(solution.iterations, 500U);
      EXPECT_LE(solution.relative_residuals.back(), tolerance);
      ASSERT_GT(solution.iterations, 1U);
      EXPECT_GT(solution.relative_residuals[solution.iterations - 2], tolerance) << "it ends as soon as it may";
      EXPECT_LT(residual_of(outcome.x, b), 1.01 * tolerance) << "restart " << restart;
    }
  }
}

/// A first correction whose image is rounded as b is, from the other side: the residual of the rounded vectors is half
/// of the true one.
TEST_P(FgmresIn, IsNotConvergedByWhatRoundingHides) {
  Vector correction = whole().random(18);
  for (double& value : correction) value = static_cast<float>(value);
  const Vector image = whole().apply(correction);
  Vector b;
  for (const double value : image) {
    const double rounded = static_cast<float>(value);
    b.push_back(rounded + 0.98 * (rounded - value));
  }
  const auto local = [&](const Vector& v) {
    const Vector values = whole().on(problem().space, v);
    return std::vector<float>(values.begin(), values.end());
  };
  const auto precondition = [&](const float* input, float* output, device::Stream& on) {
    const std::vector<float> right = local(b);
    const bool is_first = device::download(input, right.size(), on) == right;
    is_first ? device::upload(local(correction), output, on) : jacobi()(input, output, on);
  };
  const double tolerance = 0.75 * norm(sum(b, -1, image)) / norm(b);
  const Outcome outcome = solve(precondition, b, {.restart = 30, .iterations = 100, .tolerance = tolerance});
  EXPECT_TRUE(outcome.solution.converged);
  EXPECT_GT(outcome.solution.iterations, 1U);
  EXPECT_LT(residual_of(outcome.x, b), 1.01 * tolerance);
}

TEST_P(FgmresIn, EndsAfterTheIterationsThatItMayDo) {
  const Vector b = whole().random(14);
  for (const std::size_t iterations : {1, 6, 7}) {
    const Outcome outcome = solve(jacobi(), b, {.restart = 6, .iterations = iterations, .tolerance = 1e-8});
    EXPECT_EQ(outcome.solution.iterations, iterations);
    EXPECT_FALSE(outcome.solution.converged);
    EXPECT_NEAR(residual_of(outcome.x, b), outcome.solution.relative_residuals.back(), 1e-6);
  }
}

TEST_P(FgmresIn, OfNothingIsNothing) {
  const Vector zeros(whole().unknowns());
  const Outcome outcome = solve(jacobi(), zeros, {});
  EXPECT_EQ(outcome.solution.iterations, 1U);
  EXPECT_EQ(outcome.solution.relative_residuals, Vector{0});
  EXPECT_TRUE(outcome.solution.converged);
  EXPECT_EQ(outcome.x, zeros);
}

TEST_P(FgmresIn, StagnatesWithAPreconditionerThatReturnsNothing) {
  const Vector b = whole().random(15);
  const Outcome outcome =
      solve([&](const float*, float* output, device::Stream& on) { on.fill(output, 0, bytes()); }, b, {});
  EXPECT_TRUE(outcome.solution.stagnated);
  EXPECT_FALSE(outcome.solution.converged);
  EXPECT_NEAR(outcome.solution.relative_residuals.back(), 1, 1e-14);
  EXPECT_EQ(outcome.x, Vector(whole().unknowns()));
}

/// A preconditioner that leaves half of the unknowns at 0 cannot reduce the residual of the others.
TEST_P(FgmresIn, StagnatesWhereACycleDoesNotReduceTheResidual) {
  const Vector b = whole().random(16);
  Vector every_other(whole().unknowns());
  for (std::size_t i = 0; i < every_other.size(); i += 2) every_other[i] = 1;
  const Vector mask = whole().on(problem().space, every_other);
  const Outcome outcome = solve(
      [&](const float* input, float* output, device::Stream& on) {
        std::vector<float> values = device::download(input, mask.size(), on);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] *= static_cast<float>(mask[i]);
        device::upload(values, output, on);
      },
      b, {.restart = 2, .iterations = 1000, .tolerance = 1e-8});
  EXPECT_TRUE(outcome.solution.stagnated);
  EXPECT_FALSE(outcome.solution.converged);
  EXPECT_LT(outcome.solution.iterations, 1000U);
}

/// Two iterations a cycle without a preconditioner do not halve the residual, and yet go on to the end.
TEST_P(FgmresIn, GoesOnWhereACycleDoesLittle) {
  const Vector b = whole().random(16);
  const Outcome outcome =
      solve([&](const float* input, float* output, device::Stream& on) { on.copy(output, input, bytes()); }, b,
            {.restart = 2, .iterations = 1000, .tolerance = 1e-8});
  EXPECT_FALSE(outcome.solution.stagnated);
  EXPECT_TRUE(outcome.solution.converged);
}

/// All bits of a float that is not a number.
TEST_P(FgmresIn, DoesNotConvergeToWhatIsNotANumber) {
  const Vector b = whole().random(17);
  const auto right = vector<double>(whole().on(problem().space, b));
  const auto x = output<double>(problem().space.length());
  Fgmres fgmres(
      problem().level, [&](const float*, float* output, device::Stream& on) { on.fill(output, 0xFF, bytes()); }, {},
      context(), nobody);
  const Solution solution = fgmres.solve(right.as<double>(), x.as<double>(), *stream);
  EXPECT_FALSE(solution.converged);
  EXPECT_TRUE(solution.stagnated);
}

INSTANTIATE_TEST_SUITE_P(Memories, FgmresIn, sem::memories, name_of);

}  // namespace
}  // namespace commlens::solvers

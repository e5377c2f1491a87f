// The preconditioner: one application against a V-cycle of dense linear algebra, and as a whole in FGMRES.
#include "solvers/multigrid.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "solver_fixture.hpp"
#include "solvers/fgmres.hpp"

namespace commlens::solvers {
namespace {

using reference::CycleLevel;
using reference::norm;
using reference::Operator;
using reference::sum;
using reference::Whole;

Operator smoother_of(const Whole& whole, Smoother smoother) {
  if (smoother == Smoother::chebyshev_jacobi) return whole.jacobi();
  return [schwarz = reference::Schwarz(whole)](const Vector& r) { return schwarz.apply(r); };
}

class MultigridCycleIn : public SolversIn {
 protected:
  /// With so many steps of the coarsest level's conjugate gradients that it is solved for.
  void expect_the_v_cycle(const sem::Shape& shape, const std::vector<int>& orders, Smoother smoother) {
    const sem::FunctionSpace space(sem::mesh_of(shape), context());
    Multigrid multigrid(
        space, {.orders = orders, .smoother = smoother, .degree = 2, .coarse_steps = 12, .level = level_options()},
        context(), nobody);
    std::vector<std::unique_ptr<Whole>> wholes;
    std::vector<CycleLevel> levels;
    for (std::size_t level = 0; level < orders.size(); ++level) {
      sem::Shape of_level = shape;
      of_level.order = orders[level];
      wholes.push_back(std::make_unique<Whole>(of_level));
      CycleLevel here{.whole = *wholes.back(), .s = {}, .bounds = {}};
      if (level + 1 < orders.size()) {
        here.s = smoother_of(*wholes.back(), smoother);
        here.bounds = Chebyshev::Bounds::of(multigrid.spectral_radii()[level]);
        here.degree = smoother == Smoother::ras ? 0 : 2;
      }
      levels.push_back(here);
    }
    const Whole& whole = *wholes.front();
    const Vector r = whole.random(21);
    const auto b = vector<float>(whole.on(space, r));
    const auto x = output<float>(space.length());
    for (int repetition = 0; repetition < 2; ++repetition) multigrid.apply(b.as<float>(), x.as<float>(), *stream);
    const Vector iterate = whole.gathered(space, values_of<float>(x, space.length()));
    reference::expect_equal(iterate, reference::v_cycle(levels, 0, r), 1e-4, std::string(name(smoother)));
  }
};

TEST_P(MultigridCycleIn, IsTheDenseVCycle) {
  for (const Smoother smoother : all_values<Smoother>()) {
    expect_the_v_cycle({.elements = {4, 3, 2}, .order = 3}, {3, 1}, smoother);
    expect_the_v_cycle({.elements = {3, 2, 2}, .order = 3}, {3, 2, 1}, smoother);
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, MultigridCycleIn, sem::memories, name_of);

std::string describe(const Multigrid::Options& options) {
  std::string all(name(options.smoother));
  for (const int order : options.orders) all += ", " + std::to_string(order);
  return all;
}

class MultigridIn : public SolversIn {
 protected:
  struct Outcome {
    Solution solution;
    Vector x;  ///< of all unknowns
    std::vector<double> spectral_radii;
  };

  static constexpr Fgmres::Options limits{.restart = 30, .iterations = 60, .tolerance = 1e-8};

  /// Of all ranks, or of this rank alone.
  Outcome solve(const sem::Shape& shape, const Multigrid::Options& options, const Context& around, bool alone) const {
    const reference::Whole whole(shape);
    const auto rank_of_mesh = alone ? 0 : rank;
    sem::Mesh mesh(shape, sem::Partition(shape.elements, alone ? 1 : ranks), rank_of_mesh);
    const sem::FunctionSpace space(std::move(mesh), around);
    Level<double> level(space, options.level, around, nobody);
    Multigrid multigrid(space, options, around, nobody);
    EXPECT_EQ(multigrid.levels(), options.orders.size());
    for (std::size_t i = 0; i < options.orders.size(); ++i) {
      EXPECT_EQ(multigrid.space(i).order(), options.orders[i]);
    }
    Fgmres fgmres(
        level, [&](const float* input, float* result, device::Stream& on) { multigrid.apply(input, result, on); },
        limits, around, nobody);
    const auto b = vector<double>(whole.on(space, whole.random(18)));
    const auto x = output<double>(space.length());
    Outcome outcome;
    outcome.solution = fgmres.solve(b.as<double>(), x.as<double>(), *stream);
    multigrid.solve_coarsest(*stream);
    stream->wait();
    const Vector here = values_of<double>(x, space.length());
    if (!alone) outcome.x = whole.gathered(space, here);
    outcome.spectral_radii = multigrid.spectral_radii();
    return outcome;
  }

  /// The whole problem on every rank.
  Outcome solve_alone(const sem::Shape& shape, const Multigrid::Options& options) {
    const transport::Communicator self(MPI_COMM_SELF);
    const auto& all = transport::all();
    const auto registered = std::find_if(all.begin(), all.end(),
                                         [](const auto& candidate) { return candidate.name == GetParam().transport; });
    const auto alone = registered->make({self, this_device(), memory(), ""});
    const Context usual = context();
    const Context around{.communicator = self,
                         .transport = *alone,
                         .device = usual.device,
                         .memory = usual.memory,
                         .stream = usual.stream,
                         .allocate = usual.allocate,
                         .allocate_staging = usual.allocate_staging};
    return solve(shape, options, around, true);
  }

  /// Returns the iterations.
  std::size_t expect_solved(const sem::Shape& shape, const Multigrid::Options& options) {
    const Outcome outcome = solve(shape, options, context(), false);
    EXPECT_TRUE(outcome.solution.converged) << describe(options);
    const reference::Whole whole(shape);
    const Vector b = whole.random(18);
    const double residual = norm(sum(b, -1, whole.apply(outcome.x))) / norm(b);
    EXPECT_LT(residual, 1.01 * limits.tolerance) << describe(options);
    EXPECT_NEAR(residual, outcome.solution.relative_residuals.back(), 1e-3 * residual + 1e-13) << describe(options);

    const Outcome alone = solve_alone(shape, options);
    EXPECT_LE(std::abs(static_cast<int>(outcome.solution.iterations) - static_cast<int>(alone.solution.iterations)), 1)
        << describe(options);
    EXPECT_EQ(outcome.spectral_radii.size() + 1, options.orders.size());
    reference::expect_equal(outcome.spectral_radii, alone.spectral_radii, 1e-3, describe(options));
    return outcome.solution.iterations;
  }

  static Multigrid::Options options_of(std::vector<int> orders, Smoother smoother = Smoother::chebyshev_ras) {
    return {.orders = std::move(orders), .smoother = smoother, .level = level_options()};
  }
};

TEST_P(MultigridIn, SolvesWithEachChoiceOfLevels) {
  const std::size_t three = expect_solved({.elements = {3, 2, 2}, .order = 7}, options_of({7, 3, 1}));
  EXPECT_LE(three, 25U);
  EXPECT_LE(expect_solved({.elements = {3, 3, 2}, .order = 4}, options_of({4, 2, 1})), 25U);
  EXPECT_LE(expect_solved({.elements = {4, 4, 3}, .order = 2}, options_of({2, 1})), 25U);
  EXPECT_LE(expect_solved({.elements = {4, 4, 3}, .order = 1}, options_of({1})), 5U) << "20 steps for 18 unknowns";
}

TEST_P(MultigridIn, SolvesWithEachSmoother) {
  for (const Smoother smoother : all_values<Smoother>()) {
    EXPECT_LE(expect_solved({.elements = {3, 2, 2}, .order = 3}, options_of({3, 1}, smoother)), 40U) << name(smoother);
  }
}

/// Chebyshev's iteration of a higher degree does more, and so do more levels than none.
TEST_P(MultigridIn, NeedsFewerIterationsWithAHigherDegree) {
  const sem::Shape shape{.elements = {3, 2, 2}, .order = 4};
  Multigrid::Options options = options_of({4, 2, 1});
  options.degree = 1;
  const std::size_t with_degree_1 = expect_solved(shape, options);
  options.degree = 4;
  EXPECT_LT(expect_solved(shape, options), with_degree_1);
}

TEST_P(MultigridIn, SolvesWithBoomerAmg) {
  if (!boomeramg_missing().empty()) GTEST_SKIP() << boomeramg_missing();
  Multigrid::Options options = options_of({3, 1});
  options.coarse = Coarse::boomeramg;
  EXPECT_LE(expect_solved({.elements = {4, 4, 3}, .order = 3}, options), 25U);
}

/// All vertices of a row of elements lie on the boundary.
TEST_P(MultigridIn, SolvesWithoutUnknownsOnTheCoarsestLevel) {
  Multigrid::Options options = options_of({3, 1});
  EXPECT_LE(expect_solved({.elements = {4, 1, 1}, .order = 3}, options), 25U);
  if (!boomeramg_missing().empty()) return;
  options.coarse = Coarse::boomeramg;
  EXPECT_LE(expect_solved({.elements = {4, 1, 1}, .order = 3}, options), 25U);
}

TEST_P(MultigridIn, SolvesWithoutOverlap) {
  Multigrid::Options options = options_of({3, 1});
  options.level = level_options(false);
  EXPECT_LE(expect_solved({.elements = {5, 3, 2}, .order = 3}, options), 25U);
}

INSTANTIATE_TEST_SUITE_P(Memories, MultigridIn, sem::memories, name_of);

}  // namespace
}  // namespace commlens::solvers

// One application of the preconditioner, against a V-cycle of dense linear algebra.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "multigrid_reference.hpp"
#include "schwarz_reference.hpp"
#include "solver_fixture.hpp"
#include "solvers/multigrid.hpp"

namespace commlens::solvers {
namespace {

using reference::CycleLevel;
using reference::Operator;
using reference::Whole;

Operator smoother_of(const Whole& whole, Smoother smoother) {
  if (smoother == Smoother::chebyshev_jacobi) {
    return [diagonal = whole.diagonal()](Vector r) {
      for (std::size_t i = 0; i < r.size(); ++i) r[i] /= diagonal[i];
      return r;
    };
  }
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
    const Vector found = whole.gathered(space, values_of<float>(x, space.length()));
    reference::expect_equal(found, reference::v_cycle(levels, 0, r), 1e-4, std::string(name(smoother)));
  }
};

TEST_P(MultigridCycleIn, IsTheDenseVCycle) {
  for (const Smoother smoother : all_values<Smoother>()) {
    expect_the_v_cycle({.elements = {4, 3, 2}, .order = 3}, {3, 1}, smoother);
    expect_the_v_cycle({.elements = {3, 2, 2}, .order = 3}, {3, 2, 1}, smoother);
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, MultigridCycleIn, sem::memories, name_of);

}  // namespace
}  // namespace commlens::solvers

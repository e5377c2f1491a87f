// Between levels: interpolation of polynomials, and its transpose.
#include "solvers/interpolation.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "solver_fixture.hpp"

namespace commlens::solvers {
namespace {

using reference::expect_equal;

struct Orders {
  int coarse;
  int fine;
};
constexpr Orders all_orders[] = {{1, 2}, {1, 3}, {1, 4}, {2, 4}, {3, 7}, {2, 3}};

std::string describe(const Orders& orders) {
  return "orders " + std::to_string(orders.coarse) + " and " + std::to_string(orders.fine);
}

TEST(InterpolationMatrix, IsExactForPolynomials) {
  for (const Orders& orders : all_orders) {
    const sem::Gll from = sem::gll(orders.coarse);
    const sem::Gll to = sem::gll(orders.fine);
    const auto matrix = interpolation_matrix(from, to);
    ASSERT_EQ(matrix.size(), from.points.size() * to.points.size());
    for (int power = 0; power <= orders.coarse; ++power) {
      for (std::size_t i = 0; i < to.points.size(); ++i) {
        double value = 0;
        for (std::size_t j = 0; j < from.points.size(); ++j) {
          value += matrix[i * from.points.size() + j] * std::pow(from.points[j], power);
        }
        EXPECT_NEAR(value, std::pow(to.points[i], power), 1e-13) << describe(orders) << ", power " << power;
      }
    }
  }
}

class InterpolationIn : public SolversIn {
 protected:
  struct Levels {
    Levels(const Orders& orders, const Context& context, const Observation& observation,
           const LevelOptions& options = level_options())
        : coarse({.elements = {5, 3, 2}, .order = orders.coarse}, context, observation, options),
          fine({.elements = {5, 3, 2}, .order = orders.fine}, context, observation, options),
          interpolation(coarse.level, fine.level, context, observation) {}

    Problem<float> coarse;
    Problem<float> fine;
    Interpolation interpolation;
  };
};

TEST_P(InterpolationIn, WritesTheInterpolatedValues) {
  for (const Orders& orders : all_orders) {
    Levels levels(orders, context(), nobody);
    const Problem<float>& coarse = levels.coarse;
    const Problem<float>& fine = levels.fine;
    const Vector u = coarse.whole.random(6);
    const auto from = vector<float>(coarse.whole.on(coarse.space, u));
    const auto to = output<float>(fine.space.length());
    levels.interpolation.interpolate_to_fine(from.as<float>(), to.as<float>(), *stream);
    const Vector expected = reference::interpolated(coarse.whole, fine.whole, u);
    // Four ranks have blocks of different sizes: of a node that they share they have different numbers of elements.
    const Vector interpolated = fine.whole.gathered(fine.space, values_of<float>(to, fine.space.length()));
    expect_equal(interpolated, expected, 1e-6, describe(orders));
  }
}

TEST_P(InterpolationIn, RestrictionIsItsTranspose) {
  for (const bool overlap : {true, false}) {
    for (const Orders& orders : all_orders) {
      Levels levels(orders, context(), nobody, level_options(overlap));
      const Problem<float>& coarse = levels.coarse;
      const Problem<float>& fine = levels.fine;
      const Vector r = fine.whole.random(8);
      const auto from = vector<float>(fine.whole.on(fine.space, r));
      const auto to = output<float>(coarse.space.length());
      levels.interpolation.restrict_to_coarse(from.as<float>(), to.as<float>(), *stream);
      const Vector restricted = coarse.whole.gathered(coarse.space, values_of<float>(to, coarse.space.length()));
      for (std::int64_t seed = 20; seed < 25; ++seed) {
        const Vector u = coarse.whole.random(seed);
        const Vector up = reference::interpolated(coarse.whole, fine.whole, u);
        const double scale = reference::norm(up) * reference::norm(r);
        EXPECT_NEAR(reference::product(restricted, u), reference::product(r, up), 1e-6 * scale) << describe(orders);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, InterpolationIn, sem::memories, name_of);

}  // namespace
}  // namespace commlens::solvers

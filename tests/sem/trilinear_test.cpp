#include "sem/trilinear.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace commlens::sem {
namespace {

double sign(std::size_t vertex, int axis) { return (vertex >> axis & 1) != 0 ? 1 : -1; }

/// A box that is stretched, sheared and twisted: no two terms of the map are equal, and none is 0.
Vertices twisted() {
  Vertices vertices;
  for (std::size_t vertex = 0; vertex < 8; ++vertex) {
    const double r = sign(vertex, 0);
    const double s = sign(vertex, 1);
    const double t = sign(vertex, 2);
    vertices[vertex] = {1 + 2 * r + 0.3 * s - 0.2 * t + 0.11 * r * s - 0.07 * r * t + 0.05 * s * t + 0.13 * r * s * t,
                        2 - 0.4 * r + 3 * s + 0.1 * t - 0.09 * r * s + 0.12 * r * t + 0.06 * s * t - 0.03 * r * s * t,
                        3 + 0.2 * r - 0.1 * s + 4 * t + 0.08 * r * s + 0.04 * r * t - 0.14 * s * t + 0.02 * r * s * t};
  }
  return vertices;
}

Point position_of(const Trilinear& map, const Point& at) {
  return {position(map, 0, at[0], at[1], at[2]), position(map, 1, at[0], at[1], at[2]),
          position(map, 2, at[0], at[1], at[2])};
}

const Point inner_points[] = {{0, 0, 0}, {0.3, -0.7, 0.9}, {-1, 1, -1}, {-0.2, -0.5, 0.1}};

TEST(Trilinear, HasTheCoefficientsThatItsVerticesWereMadeOf) {
  const Trilinear map = trilinear(twisted());
  const double x[8] = {1, 2, 0.3, -0.2, 0.11, -0.07, 0.05, 0.13};
  const double y[8] = {2, -0.4, 3, 0.1, -0.09, 0.12, 0.06, -0.03};
  const double z[8] = {3, 0.2, -0.1, 4, 0.08, 0.04, -0.14, 0.02};
  for (int term = 0; term < 8; ++term) {
    EXPECT_NEAR(map.c[term][0], x[term], 1e-15) << term;
    EXPECT_NEAR(map.c[term][1], y[term], 1e-15) << term;
    EXPECT_NEAR(map.c[term][2], z[term], 1e-15) << term;
  }
}

TEST(Trilinear, MeetsItsVerticesAndTheInterpolationOfTheMesh) {
  const Vertices vertices = twisted();
  const Trilinear map = trilinear(vertices);
  for (std::size_t vertex = 0; vertex < 8; ++vertex) {
    const Point found = position_of(map, {sign(vertex, 0), sign(vertex, 1), sign(vertex, 2)});
    for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_NEAR(found[axis], vertices[vertex][axis], 1e-14);
  }
  for (const Point& at : inner_points) {
    const Point found = position_of(map, at);
    const Point expected = interpolate(vertices, at);
    for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_NEAR(found[axis], expected[axis], 1e-14);
  }
}

/// dx / dr by central differences, which are exact up to rounding, because the map is linear in each direction.
std::array<Point, 3> differences(const Trilinear& map, const Point& at) {
  std::array<Point, 3> result;
  for (std::size_t direction = 0; direction < 3; ++direction) {
    Point before = at;
    Point after = at;
    before[direction] -= 0.5;
    after[direction] += 0.5;
    const Point a = position_of(map, before);
    const Point b = position_of(map, after);
    for (std::size_t axis = 0; axis < 3; ++axis) result[direction][axis] = b[axis] - a[axis];
  }
  return result;
}

TEST(Cofactors, AreThoseOfTheDifferencesOfPositions) {
  const Vertices vertices = twisted();
  const Trilinear map = trilinear(vertices);
  for (const Point& at : inner_points) {
    const auto derivatives = differences(map, at);
    const Cofactors cofactors = ColumnOfMap(map, at[0], at[1]).at(at[2]);
    EXPECT_NEAR(cofactors.jacobian, jacobian(vertices, at), 1e-13);
    // J grad r_a . dx/dr_b is J if a = b, and 0 otherwise.
    for (std::size_t a = 0; a < 3; ++a) {
      for (std::size_t b = 0; b < 3; ++b) {
        double product = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) product += cofactors.row[a][axis] * derivatives[b][axis];
        EXPECT_NEAR(product, a == b ? cofactors.jacobian : 0, 1e-12) << a << ", " << b;
      }
    }
  }
}

TEST(Cofactors, OfABoxAreItsFaces) {
  Vertices vertices;
  for (std::size_t vertex = 0; vertex < 8; ++vertex) {
    vertices[vertex] = {0.5 * sign(vertex, 0), 1.5 * sign(vertex, 1), 4 * sign(vertex, 2)};
  }
  const Cofactors cofactors = ColumnOfMap(trilinear(vertices), 0.25, -0.5).at(0.75);
  EXPECT_EQ(cofactors.jacobian, 3);
  const double faces[3] = {6, 2, 0.75};
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) EXPECT_EQ(cofactors.row[a][b], a == b ? faces[a] : 0);
  }
}

TEST(Metric, IsTheSameFromItsTermsAndFromTheCofactors) {
  const Cofactors cofactors = ColumnOfMap(trilinear(twisted()), 0.3, -0.6).at(0.2);
  constexpr double weight = 0.7;
  double g[6];
  std::size_t term = 0;
  for (int a = 0; a < 3; ++a) {
    for (int b = a; b < 3; ++b) {
      double product = 0;
      for (int axis = 0; axis < 3; ++axis) product += cofactors.row[a][axis] * cofactors.row[b][axis];
      g[term++] = weight * product / cofactors.jacobian;
    }
  }
  double from_terms[3] = {1.5, -2.5, 0.5};
  double from_cofactors[3] = {1.5, -2.5, 0.5};
  multiply_by_factors(g, from_terms[0], from_terms[1], from_terms[2]);
  multiply_by_factors(cofactors, weight, from_cofactors[0], from_cofactors[1], from_cofactors[2]);
  for (int a = 0; a < 3; ++a) EXPECT_NEAR(from_terms[a], from_cofactors[a], 1e-13);
}

}  // namespace
}  // namespace commlens::sem

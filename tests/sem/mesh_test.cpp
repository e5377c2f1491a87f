// The mesh and its elements: Gauss-Lobatto points, trilinear maps, global ids and the boundary.
#include "sem/mesh.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

#include "sem/gll.hpp"
#include "sem/trilinear.hpp"

namespace commlens::sem {
namespace {

class Orders : public testing::TestWithParam<int> {
 protected:
  const Gll gll_ = gll(GetParam());
};

TEST_P(Orders, ReachFromEndToEndInOrder) {
  ASSERT_EQ(gll_.points.size(), static_cast<std::size_t>(GetParam()) + 1);
  EXPECT_EQ(gll_.points.front(), -1);
  EXPECT_EQ(gll_.points.back(), 1);
  for (std::size_t i = 1; i < gll_.points.size(); ++i) EXPECT_LT(gll_.points[i - 1], gll_.points[i]);
  for (std::size_t i = 0; i < gll_.points.size(); ++i) {
    EXPECT_EQ(gll_.points[i], -gll_.points[gll_.points.size() - 1 - i]) << "symmetric to the last bit";
  }
}

TEST_P(Orders, IntegratePolynomialsOfDegree2NMinus1ExactlyAndNoMore) {
  const int highest = 2 * GetParam() - 1;
  const auto integral = [&](int degree) {
    double sum = 0;
    for (std::size_t i = 0; i < gll_.points.size(); ++i) sum += gll_.weights[i] * std::pow(gll_.points[i], degree);
    return sum;
  };
  for (int degree = 0; degree <= highest; ++degree) {
    EXPECT_NEAR(integral(degree), degree % 2 == 0 ? 2.0 / (degree + 1) : 0.0, 2e-15) << degree;
  }
  const int beyond = highest + 1;
  EXPECT_GT(integral(beyond) - 2.0 / (beyond + 1), 1e-9);
}

TEST_P(Orders, DerivePolynomialsOfDegreeN) {
  const std::size_t count = gll_.points.size();
  for (int degree = 0; degree <= GetParam(); ++degree) {
    for (std::size_t i = 0; i < count; ++i) {
      double derived = 0;
      for (std::size_t j = 0; j < count; ++j) {
        derived += gll_.derivative[i * count + j] * std::pow(gll_.points[j], degree);
      }
      const double right = degree == 0 ? 0 : degree * std::pow(gll_.points[i], degree - 1);
      EXPECT_NEAR(derived, right, 1e-12) << "x^" << degree << " at point " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Orders, testing::Range(1, highest_order + 1));

TEST(Gll, Order3IsKnown) {
  const Gll cubic = gll(3);
  EXPECT_NEAR(cubic.points[1], -1 / std::sqrt(5.0), 1e-16);
  EXPECT_NEAR(cubic.weights[0], 1.0 / 6, 1e-16);
  EXPECT_NEAR(cubic.weights[1], 5.0 / 6, 2e-16);
}

TEST(Gll, OtherOrdersAreRefused) {
  EXPECT_THROW(gll(0), std::invalid_argument);
  EXPECT_THROW(gll(-1), std::invalid_argument);
  EXPECT_THROW(gll(highest_order + 1), std::invalid_argument);
}

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
    const Point position = position_of(map, {sign(vertex, 0), sign(vertex, 1), sign(vertex, 2)});
    for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_NEAR(position[axis], vertices[vertex][axis], 1e-14);
  }
  for (const Point& at : inner_points) {
    const Point position = position_of(map, at);
    const Point expected = interpolate(vertices, at);
    for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_NEAR(position[axis], expected[axis], 1e-14);
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

TEST(Kershaw, WithEps1IsTheIdentityButForAHalf) {
  for (const double x : {0.0, 0.1, 1.0 / 6, 0.4, 0.5, 0.77, 1.0}) {
    for (const double y : {0.0, 0.25, 0.5, 0.9, 1.0}) {
      const Point moved = kershaw({x, y, 1 - y}, 1);
      EXPECT_EQ(moved[0], x - 0.5);
      EXPECT_NEAR(moved[1], y - 0.5, 1e-16);
      EXPECT_NEAR(moved[2], 0.5 - y, 1e-16);
    }
  }
}

TEST(Kershaw, KeepsTheBoundaryAndMovesTheMiddle) {
  for (const double x : {0.0, 0.2, 0.45, 0.7, 1.0}) {
    EXPECT_EQ(kershaw({x, 0, 1}, 0.3)[1], -0.5);
    EXPECT_NEAR(kershaw({x, 0, 1}, 0.3)[2], 0.5, 1e-16);
  }
  // In the first layer the lower half is compressed to eps times its height, in the last one the upper half.
  EXPECT_NEAR(kershaw({0, 0.5, 0}, 0.3)[1], 0.15 - 0.5, 1e-15);
  EXPECT_NEAR(kershaw({1, 0.5, 0}, 0.3)[1], 0.85 - 0.5, 1e-15);
  EXPECT_NEAR(kershaw({0.5, 0.5, 0}, 0.3)[1], 0, 1e-15) << "halfway between them in the middle";
}

/// The volume: the sum of the quadratures of all elements' Jacobians.
double volume(const Shape& shape) {
  const Partition partition(shape.elements, 1);
  const Mesh mesh(shape, partition, 0);
  double sum = 0;
  for (std::size_t element = 0; element < mesh.elements(); ++element) {
    const Vertices vertices = mesh.vertices(element);
    for (std::size_t k = 0; k < mesh.gll().points.size(); ++k) {
      for (std::size_t j = 0; j < mesh.gll().points.size(); ++j) {
        for (std::size_t i = 0; i < mesh.gll().points.size(); ++i) {
          const auto& points = mesh.gll().points;
          const auto& weights = mesh.gll().weights;
          const double jacobian_here = jacobian(vertices, {points[i], points[j], points[k]});
          EXPECT_GT(jacobian_here, 0) << "element " << element;
          sum += jacobian_here * weights[i] * weights[j] * weights[k];
        }
      }
    }
  }
  return sum;
}

TEST(Mesh, FillsTheCube) {
  EXPECT_NEAR(volume({.elements = {12, 12, 12}, .order = 3, .eps = 0.3}), 1, 1e-12);
  EXPECT_NEAR(volume({.elements = {7, 5, 6}, .order = 4, .eps = 0.3}), 1, 1e-12);
  EXPECT_NEAR(volume({.elements = {12, 6, 6}, .order = 2, .eps = 0.05}), 1, 1e-12);
  EXPECT_NEAR(volume({.elements = {1, 1, 1}, .order = 1, .eps = 1}), 1, 1e-15);
}

/// Of the nodes of all ranks.
class Everything {
 public:
  Everything(const Shape& shape, int ranks) {
    const Partition partition(shape.elements, ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      meshes.emplace_back(shape, partition, rank);
      const auto ids = meshes.back().ids();
      for (const std::int64_t id : ids) ++copies[id];
    }
  }

  std::vector<Mesh> meshes;
  std::map<std::int64_t, std::size_t> copies;
};

TEST(Mesh, NodesWithOneIdAreOnePointAndOthersAreNot) {
  for (const int order : {1, 2, 7}) {
    const Everything all({.elements = {7, 3, 4}, .order = order}, 5);
    std::map<std::int64_t, Point> points;
    for (const Mesh& mesh : all.meshes) {
      const auto ids = mesh.ids();
      const auto places = mesh.points();
      ASSERT_EQ(ids.size(), mesh.nodes());
      ASSERT_EQ(places.size(), mesh.nodes());
      for (std::size_t node = 0; node < ids.size(); ++node) {
        EXPECT_GT(ids[node], 0);
        const auto [known, fresh] = points.emplace(ids[node], places[node]);
        EXPECT_TRUE(fresh || known->second == places[node]) << "id " << ids[node];
      }
    }
    std::set<Point> distinct;
    for (const auto& [id, point] : points) distinct.insert(point);
    EXPECT_EQ(distinct.size(), points.size());
    EXPECT_EQ(static_cast<std::int64_t>(points.size()), all.meshes.front().unique_nodes());
  }
}

TEST(Mesh, KnowsTheBoundaryOfTheDomain) {
  const Everything all({.elements = {4, 3, 2}, .order = 3}, 3);
  std::set<std::int64_t> inside;
  for (const Mesh& mesh : all.meshes) {
    const auto ids = mesh.ids();
    const auto points = mesh.points();
    const auto on_boundary = mesh.on_boundary();
    for (std::size_t node = 0; node < ids.size(); ++node) {
      bool at_end = false;
      for (const double coordinate : points[node]) at_end = at_end || std::abs(std::abs(coordinate) - 0.5) < 1e-14;
      EXPECT_EQ(on_boundary[node], at_end ? 1 : 0);
      if (!at_end) inside.insert(ids[node]);
    }
  }
  EXPECT_EQ(static_cast<std::int64_t>(inside.size()), all.meshes.front().degrees_of_freedom());
}

TEST(Mesh, IdsOfALargeOneNeedMoreThan32Bits) {
  const Shape shape{.elements = {2000, 1000, 1000}, .order = 7};
  const int ranks = 1'000'000;
  const Mesh mesh(shape, Partition(shape.elements, ranks), ranks - 1);
  EXPECT_EQ(mesh.ids().back(), mesh.unique_nodes());
  EXPECT_GT(mesh.unique_nodes(), std::int64_t{1} << 36);
}

}  // namespace
}  // namespace commlens::sem

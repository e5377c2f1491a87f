#include "sem/mesh.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace commlens::sem {
namespace {

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

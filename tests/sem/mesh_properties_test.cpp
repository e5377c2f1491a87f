// Properties of a mesh are the same on any number of ranks.
#include <cstdint>

#include "problem.hpp"
#include "sem/mesh.hpp"

namespace commlens::sem {
namespace {

MeshProperties properties_of(const Shape& shape) { return properties_of(mesh_of(shape), world()); }

TEST(MeshProperties, OfAMeshThatIsNotDeformed) {
  const MeshProperties of = properties_of({.elements = {8, 4, 6}, .order = 2, .eps = 1});
  EXPECT_EQ(of.elements.average, 192.0 / world().size());
  EXPECT_EQ(of.total_nodes, 192 * 27);
  EXPECT_EQ(of.unique_nodes, 17 * 9 * 13);
  EXPECT_EQ(of.degrees_of_freedom, 15 * 7 * 11);
  EXPECT_NEAR(of.scaled_jacobian.minimum, 1, 1e-12);
  EXPECT_NEAR(of.scaled_jacobian.average, 1, 1e-12);
  EXPECT_NEAR(of.aspect_ratio.minimum, 2, 1e-12);
  EXPECT_NEAR(of.aspect_ratio.maximum, 2, 1e-12);
  EXPECT_NEAR(of.spacing.minimum, 1.0 / 16, 1e-14);
  EXPECT_NEAR(of.spacing.maximum, 1.0 / 8, 1e-14);
}

TEST(MeshProperties, OfADeformedMesh) {
  const MeshProperties of = properties_of({.elements = {12, 6, 6}, .order = 3, .eps = 0.3});
  EXPECT_GT(of.scaled_jacobian.minimum, 0);
  EXPECT_LT(of.scaled_jacobian.minimum, of.scaled_jacobian.average);
  EXPECT_LE(of.scaled_jacobian.maximum, 1);
  // In the first layer elements have 0.3 and 1.7 times the height and depth of undeformed ones, which is 1/6.
  EXPECT_GT(of.aspect_ratio.maximum, 1.7 / 0.3);
  EXPECT_LT(of.spacing.minimum, 0.3 / 6 * 0.3);
}

TEST(MeshProperties, AreLinesOfNekrs) {
  const auto said = lines(properties_of({.elements = {4, 4, 4}, .order = 1, .eps = 1}));
  ASSERT_EQ(said.size(), 6U);
  EXPECT_EQ(said[1], "grid points      unique/total: 125 512");
  EXPECT_EQ(said[2], "degrees of freedom           : 27");
  EXPECT_EQ(said[3], "scaled Jacobian  min/max/avg: 1.000e+00 1.000e+00 1.000e+00");
}

/// The published case: a few million nodes per rank.
TEST(Mesh, OfThePublishedCase) {
  const Shape shape{.elements = {40, 40, 40}, .order = 7};
  const Partition partition(shape.elements, 8);
  const Mesh mesh(shape, partition, 3);
  EXPECT_EQ(mesh.elements(), 8000U);
  EXPECT_EQ(mesh.unique_nodes(), std::int64_t{281} * 281 * 281);
  EXPECT_EQ(mesh.degrees_of_freedom(), std::int64_t{279} * 279 * 279);
  EXPECT_EQ(mesh.boundary_elements(), 8000U - 19 * 19 * 19);
  EXPECT_EQ(mesh.ids().size(), mesh.nodes());
}

}  // namespace
}  // namespace commlens::sem

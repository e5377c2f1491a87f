// The operator allocates no more than the estimate, and for realistic sizes not much less.
#include <cstddef>
#include <string>

#include "problem.hpp"
#include "sem/partition.hpp"
#include "sem/poisson.hpp"

namespace commlens::sem {
namespace {

class MemoryIn : public InPlace {
 protected:
  /// Bytes allocated for the operator on the mesh. Sets `estimate` to the upper estimate of them.
  double allocated_for(const Mesh& mesh, Geometry geometry, Storage storage, double& estimate) {
    const Numbering numbering = number(mesh.ids(), mesh.on_boundary(), world());
    allocated = 0;
    const auto poisson = make_poisson<double>(mesh, numbering, geometry, storage, context());
    stream->wait();
    estimate =
        upper_bytes({.elements = static_cast<double>(mesh.elements()), .nodes = static_cast<double>(mesh.nodes())},
                    geometry, storage);
    return allocated;
  }
};

TEST_P(MemoryIn, IsAtMostTheEstimate) {
  const auto n = static_cast<std::size_t>(ranks);
  for (const Shape& shape : {Shape{.elements = {n, 1, 1}, .order = 1}, Shape{.elements = {n, 1, 1}, .order = 15},
                             Shape{.elements = {5, 4, 3}, .order = 2}, Shape{.elements = {7, 3, 3}, .order = 7}}) {
    for (const auto geometry : all_values<Geometry>()) {
      for (const auto storage : all_values<Storage>()) {
        double estimate = 0;
        EXPECT_LE(allocated_for(mesh_of(shape), geometry, storage, estimate), estimate)
            << shape.elements[0] << " elements in x, order " << shape.order << ", " << name(geometry) << ", "
            << name(storage);
      }
    }
  }
}

TEST_P(MemoryIn, IsNotMuchLessThanTheEstimate) {
  const Mesh mesh = mesh_of({.elements = {8, 8, 8 * static_cast<std::size_t>(ranks)}, .order = 7});
  for (const auto geometry : all_values<Geometry>()) {
    for (const auto storage : all_values<Storage>()) {
      double estimate = 0;
      const double bytes = allocated_for(mesh, geometry, storage, estimate);
      EXPECT_LT(estimate, 1.5 * bytes) << name(geometry) << ", " << name(storage);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, MemoryIn, memories, name_of);

}  // namespace
}  // namespace commlens::sem

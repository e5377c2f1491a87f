// The operator and the solver allocate no more than the estimate, and for realistic sizes not much less.
#include "sem/memory.hpp"

#include <string>

#include "problem.hpp"
#include "sem/conjugate_gradients.hpp"

namespace commlens::sem {
namespace {

class MemoryIn : public InPlace {
 protected:
  /// Bytes allocated for a solve on the mesh. Sets `estimate` to the upper estimate of them.
  double allocated_for(const Mesh& mesh, Geometry geometry, Storage storage, Solver solver, double& estimate) {
    const Numbering numbering = number(mesh.ids(), mesh.on_boundary(), world());
    const std::size_t length = storage == Storage::unique ? numbering.unknowns : mesh.nodes();
    const ConjugateGradients::Limits limits{.iterations = 100};
    allocated = 0;
    const auto poisson = make_poisson(mesh, numbering, geometry, storage, context());
    const VectorSpace space{.length = length, .counted = length};
    const auto nothing = [](const double*, double*, double*, device::Stream&) {};
    const ConjugateGradients iteration(solver, space, limits, nothing, context());
    stream->wait();
    estimate = upper_bytes({.elements = static_cast<double>(mesh.elements()),
                            .nodes = static_cast<double>(mesh.nodes()),
                            .length = static_cast<double>(length),
                            .iterations = static_cast<double>(limits.iterations)},
                           geometry, solver);
    return allocated;
  }
};

TEST_P(MemoryIn, IsAtMostTheEstimate) {
  const auto n = static_cast<std::size_t>(ranks);
  for (const Shape& shape : {Shape{.elements = {n, 1, 1}, .order = 1}, Shape{.elements = {n, 1, 1}, .order = 15},
                             Shape{.elements = {5, 4, 3}, .order = 2}, Shape{.elements = {7, 3, 3}, .order = 7}}) {
    for (const auto geometry : all_values<Geometry>()) {
      for (const auto storage : all_values<Storage>()) {
        for (const auto solver : all_values<Solver>()) {
          double estimate = 0;
          EXPECT_LE(allocated_for(mesh_of(shape), geometry, storage, solver, estimate), estimate)
              << shape.elements[0] << " elements in x, order " << shape.order << ", " << name(geometry) << ", "
              << name(storage) << ", " << name(solver);
        }
      }
    }
  }
}

TEST_P(MemoryIn, IsNotMuchLessThanTheEstimate) {
  const Mesh mesh = mesh_of({.elements = {8, 8, 8 * static_cast<std::size_t>(ranks)}, .order = 7});
  for (const auto geometry : all_values<Geometry>()) {
    for (const auto storage : all_values<Storage>()) {
      double estimate = 0;
      const double bytes = allocated_for(mesh, geometry, storage, Solver::classical, estimate);
      EXPECT_LT(estimate, 1.5 * bytes) << name(geometry) << ", " << name(storage);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, MemoryIn, memories, name_of);

}  // namespace
}  // namespace commlens::sem

// The places of the neighbors' nodes: a vector of global ids is read at them.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "solver_fixture.hpp"
#include "solvers/schwarz.hpp"

namespace commlens::solvers {
namespace {

using sem::Extents;
using sem::Numbering;

/// The lattice node of the mesh that lies beyond a face of an element; nothing at the end of the domain.
std::optional<Extents> node_beyond(const sem::Shape& shape, const Extents& place, std::size_t face, std::size_t a,
                                   std::size_t b) {
  const auto order = static_cast<std::size_t>(shape.order);
  const std::size_t axis = face / 2;
  Extents node{};
  std::size_t next = a;
  for (std::size_t other = 0; other < 3; ++other) {
    if (other == axis) continue;
    node[other] = place[other] * order + next;
    next = b;
  }
  if (face % 2 == 0) {
    if (place[axis] == 0) return std::nullopt;
    node[axis] = place[axis] * order - 1;
  } else {
    if (place[axis] + 1 == shape.elements[axis]) return std::nullopt;
    node[axis] = (place[axis] + 1) * order + 1;
  }
  return node;
}

bool on_boundary(const sem::Shape& shape, const Extents& node) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (node[axis] == 0 || node[axis] == shape.elements[axis] * static_cast<std::size_t>(shape.order)) return true;
  }
  return false;
}

class ExtensionIn : public SolversIn {
 protected:
  /// The global id of every unknown, and those of the ghosts after they were fetched.
  Vector ids_with_ghosts(const sem::FunctionSpace& space, const reference::Whole& whole, const Extension& extension) {
    Vector ids;
    for (std::size_t i = 0; i < whole.unknowns(); ++i) ids.push_back(static_cast<double>(whole.id(i)));
    const Vector unknown_ids = whole.on(space, ids);
    Vector here = unknown_ids;
    here.resize(space.length() + extension.ghosts, 0.0);
    const auto values = uploaded(here);
    const Context around = context();
    const auto fetch = gather_scatter::make(gather_scatter::Method::pairwise,
                                            gather_scatter::make_lists(extension.sharing, around), {}, around);
    fetch->apply(values.data(), *stream);
    here = downloaded<double>(values);
    EXPECT_EQ(Vector(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(unknown_ids.size())), unknown_ids)
        << "the rank's own values are kept";
    return here;
  }

  void expect_right_places(const sem::Shape& shape) {
    const reference::Whole whole(shape);
    const sem::FunctionSpace space(sem::mesh_of(shape), context());
    const Extension extension = extend(space, world());
    const Vector ids = ids_with_ghosts(space, whole, extension);
    const std::size_t n = static_cast<std::size_t>(shape.order) + 1;
    ASSERT_EQ(extension.neighbors.size(), 6 * n * n * space.mesh().elements());
    std::set<std::int64_t> read_as_ghosts;
    for (std::size_t i = 0; i < extension.neighbors.size(); ++i) {
      const std::size_t element = i / (6 * n * n);
      const std::size_t face = i / (n * n) % 6;
      const auto node = node_beyond(shape, space.mesh().place(element), face, i % n, i / n % n);
      const std::uint32_t neighbor = extension.neighbors[i];
      const std::string where = text(shape) + ", element " + std::to_string(element) + ", face " + std::to_string(face);
      if (!node || on_boundary(shape, *node)) {
        ASSERT_EQ(neighbor, Numbering::fixed) << where;
        continue;
      }
      ASSERT_LT(neighbor, ids.size()) << where;
      ASSERT_EQ(ids[neighbor], static_cast<double>(sem::id_of(shape, *node))) << where;
      if (neighbor >= space.length()) read_as_ghosts.insert(sem::id_of(shape, *node));
    }
    EXPECT_EQ(read_as_ghosts.size(), extension.ghosts) << "each ghost is there once, and is read";
    EXPECT_EQ(extension.sharing.nodes, space.length() + extension.ghosts);
    EXPECT_EQ(extension.ghosts == 0, ranks == 1) << text(shape);
  }
};

TEST_P(ExtensionIn, ReadsTheFirstInteriorNodesOfTheNeighbors) {
  for (const int order : {2, 3, 4, 7}) expect_right_places({.elements = {3, 2, 2}, .order = order});
}

TEST_P(ExtensionIn, ReadsThemWithBlocksOfDifferentSizes) {
  expect_right_places({.elements = {7, 1, 1}, .order = 3});
  expect_right_places({.elements = {1, 5, 3}, .order = 2});
  expect_right_places({.elements = {4, 4, 3}, .order = 2});
}

INSTANTIATE_TEST_SUITE_P(Memories, ExtensionIn, sem::memories, name_of);

}  // namespace
}  // namespace commlens::solvers

// The operator in each memory: every order, geometry and storage, on the elements of a rank; and combined over ranks.
#include "sem/poisson.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gather_scatter/gather_scatter.hpp"
#include "problem.hpp"
#include "sem/poisson.hpp"

namespace commlens::sem {
namespace {

using Vector = std::vector<double>;

constexpr Geometry geometries[] = {Geometry::stored, Geometry::trilinear};
constexpr Storage storages[] = {Storage::element, Storage::unique};

double inner_product(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::string text(Geometry geometry, Storage storage, int order) {
  return std::string(name(geometry)) + ", " + std::string(name(storage)) + ", order " + std::to_string(order);
}

/// One rank's part of a mesh, and vectors on it.
class Problem {
 public:
  explicit Problem(const Shape& shape)
      : mesh(mesh_of(shape)), ids(mesh.ids()), fixed(mesh.on_boundary()), numbering(number(ids, fixed, world())) {}

  [[nodiscard]] std::size_t length(Storage storage) const {
    return storage == Storage::element ? mesh.nodes() : numbering.unknowns;
  }

  /// A number for every unknown, the same on all ranks.
  [[nodiscard]] Vector random(Storage storage, std::int64_t seed) const {
    Vector values(length(storage), 0.0);
    for (std::size_t node = 0; node < ids.size(); ++node) {
      if (fixed[node] == 0) values[place(storage, node)] = random_number(seed * 1'000'003 + ids[node]);
    }
    return values;
  }

  /// Numbers for unknowns that several elements have, and `value` for the others.
  [[nodiscard]] Vector of_several(std::int64_t seed, double value) const {
    Vector values = random(Storage::unique, seed);
    for (const std::uint32_t unknown : numbering.of_node) {
      if (unknown < Numbering::by_several) values[unknown] = value;
    }
    return values;
  }

  /// Sums the nodal values of each unknown.
  [[nodiscard]] Vector by_unknown(const Vector& nodal) const {
    Vector values(numbering.unknowns, 0.0);
    for (std::size_t node = 0; node < nodal.size(); ++node) {
      if (fixed[node] == 0) values[place(Storage::unique, node)] += nodal[node];
    }
    return values;
  }

  /// The value of each unknown, from either storage, if all its nodes have it.
  [[nodiscard]] Vector of_unknowns(const Vector& vector, Storage storage) const {
    Vector values(numbering.unknowns, 0.0);
    for (std::size_t node = 0; node < ids.size(); ++node) {
      if (fixed[node] == 0) values[place(Storage::unique, node)] = vector[place(storage, node)];
    }
    return values;
  }

  Mesh mesh;
  std::vector<std::int64_t> ids;
  std::vector<unsigned char> fixed;
  Numbering numbering;

 private:
  [[nodiscard]] std::size_t place(Storage storage, std::size_t node) const {
    return storage == Storage::element ? node : numbering.of_node[node] & ~Numbering::by_several;
  }
};

struct Applied {
  Vector output;
  double energy = 0;
};

class PoissonIn : public InPlace {
 protected:
  [[nodiscard]] std::unique_ptr<Poisson<double>> make(const Problem& problem, Geometry geometry, Storage storage) {
    return make_poisson<double>(problem.mesh, problem.numbering, geometry, storage, context());
  }

  /// Applies the operator to one range after the other. The output is `before` at first, and the energy 1000.
  [[nodiscard]] Applied apply(Poisson<double>& poisson, const std::vector<ElementRange>& ranges, const Vector& input,
                              const Vector& before) const {
    const auto in = uploaded(input);
    const auto out = uploaded(before);
    const auto energy = uploaded(Vector{1000});
    bool add = false;
    for (const ElementRange& range : ranges) {
      poisson.apply(range, in.as<double>(), out.as<double>(), energy.as<double>(), add, *stream);
      add = true;
    }
    return {downloaded<double>(out), downloaded<double>(energy).front()};
  }

  [[nodiscard]] Applied apply(Poisson<double>& poisson, const Problem& problem, const Vector& input) const {
    return apply(poisson, {{0, problem.mesh.elements()}}, input, Vector(input.size(), 0.0));
  }
};

TEST_P(PoissonIn, GivesTheSameWhateverTheGeometryAndTheStorageAtEveryOrder) {
  for (int order = 1; order <= highest_order; ++order) {
    const Problem problem({.elements = {3, 2, 2}, .order = order});
    Vector first;
    double first_energy = 0;
    for (const Geometry geometry : geometries) {
      for (const Storage storage : storages) {
        const auto poisson = make(problem, geometry, storage);
        const auto [output, energy] = apply(*poisson, problem, problem.random(storage, 1));
        const Vector found = storage == Storage::element ? problem.by_unknown(output) : output;
        if (first.empty()) {
          first = found;
          first_energy = energy;
        }
        expect_equal(found, first, 1e-11, text(geometry, storage, order));
        EXPECT_NEAR(energy, first_energy, 1e-11 * first_energy) << text(geometry, storage, order);
      }
    }
    EXPECT_GT(first_energy, 0);
  }
}

TEST_P(PoissonIn, IsSymmetricAndItsEnergyIsInputTimesOutput) {
  for (const int order : {1, 2, 7, 8}) {
    const Problem problem({.elements = {5, 2, 3}, .order = order});
    for (const Geometry geometry : geometries) {
      for (const Storage storage : storages) {
        const auto poisson = make(problem, geometry, storage);
        const Vector u = problem.random(storage, 1);
        const Vector v = problem.random(storage, 2);
        const auto [au, energy_of_u] = apply(*poisson, problem, u);
        const auto [av, energy_of_v] = apply(*poisson, problem, v);
        const std::string what = text(geometry, storage, order);
        EXPECT_NEAR(inner_product(v, au), inner_product(u, av), 1e-12 * energy_of_u) << what;
        EXPECT_NEAR(inner_product(u, au), energy_of_u, 1e-12 * energy_of_u) << what;
        EXPECT_NEAR(inner_product(v, av), energy_of_v, 1e-12 * energy_of_v) << what;
      }
    }
  }
}

/// Calls function(node, indices) for the nodes that are not on a face of their element.
template <class Function>
void for_each_inner_node(const Mesh& mesh, Function function) {
  const auto n = static_cast<std::size_t>(mesh.shape().order) + 1;
  for (std::size_t node = 0; node < mesh.nodes(); ++node) {
    const std::size_t at[3] = {node % n, node / n % n, node / (n * n) % n};
    if (std::all_of(at, at + 3, [n](std::size_t i) { return i > 0 && i + 1 < n; })) function(node, at);
  }
}

/// The gradient is constant: all terms of the elements' deformation must cancel.
TEST_P(PoissonIn, OfALinearFunctionIsZeroInsideOfElements) {
  for (int order = 3; order <= highest_order; ++order) {
    const Problem problem({.elements = {4, 2, 2}, .order = order});
    const auto points = problem.mesh.points();
    Vector linear(points.size());
    for (std::size_t node = 0; node < linear.size(); ++node) {
      linear[node] = 1 + 2 * points[node][0] - 3 * points[node][1] + 0.5 * points[node][2];
    }
    for (const Geometry geometry : geometries) {
      const auto poisson = make(problem, geometry, Storage::element);
      const Vector output = apply(*poisson, problem, linear).output;
      const double scale = largest_of(output);
      EXPECT_GT(scale, 1e-3) << "on faces the contributions of neighbors are missing";
      for_each_inner_node(problem.mesh, [&](std::size_t node, const std::size_t* /*at*/) {
        ASSERT_NEAR(output[node], 0, 1e-12 * scale) << text(geometry, Storage::element, order) << ", node " << node;
      });
    }
  }
}

/// -laplace x^2 is -2, so that inside elements A x^2 is -2 times the mass matrix, which is known for boxes.
TEST_P(PoissonIn, OfASquareIsTheMassMatrix) {
  for (int order = 2; order <= highest_order; ++order) {
    const Problem problem({.elements = {4, 2, 1}, .order = order, .eps = 1});
    const auto points = problem.mesh.points();
    Vector square(points.size());
    for (std::size_t node = 0; node < square.size(); ++node) square[node] = points[node][0] * points[node][0];
    const double jacobian = 1.0 / 8 / (4 * 2 * 1);
    const auto& weights = problem.mesh.gll().weights;
    for (const Geometry geometry : geometries) {
      const auto poisson = make(problem, geometry, Storage::element);
      const Vector output = apply(*poisson, problem, square).output;
      for_each_inner_node(problem.mesh, [&](std::size_t node, const std::size_t* at) {
        const double mass = jacobian * weights[at[0]] * weights[at[1]] * weights[at[2]];
        ASSERT_NEAR(output[node], -2 * mass, 1e-12) << text(geometry, Storage::element, order) << ", node " << node;
      });
    }
  }
}

TEST_P(PoissonIn, AddsUpOverRanges) {
  const Problem problem({.elements = {4, 3, 3}, .order = 4});
  const std::size_t elements = problem.mesh.elements();
  const std::size_t cut = elements / 3;
  for (const Geometry geometry : geometries) {
    for (const Storage storage : storages) {
      const std::string what = text(geometry, storage, 4);
      const auto poisson = make(problem, geometry, storage);
      const Vector input = problem.random(storage, 3);
      const Applied whole = apply(*poisson, problem, input);
      const Applied parts = apply(*poisson, {{0, cut}, {cut, elements}}, input, Vector(input.size(), 0.0));
      expect_equal(parts.output, whole.output, 1e-13, what);
      EXPECT_NEAR(parts.energy, whole.energy, 1e-13 * whole.energy) << what;
    }
  }
}

TEST_P(PoissonIn, IsTheSameInBothTraversals) {
  for (const int order : {2, 4, 7}) {
    const Problem problem({.elements = {4, 3, 3}, .order = order});
    const std::size_t elements = problem.mesh.elements();
    const std::size_t cut = elements / 3;
    for (const Geometry geometry : geometries) {
      for (const Storage storage : storages) {
        const std::string what = text(geometry, storage, order);
        const auto poisson = make(problem, geometry, storage);
        const Vector input = problem.random(storage, 7);
        const Applied forward = apply(*poisson, problem, input);
        constexpr auto backward = device::Traversal::backward;
        const Applied back =
            apply(*poisson, {{0, cut, backward}, {cut, elements, backward}}, input, Vector(input.size(), 0.0));
        expect_equal(back.output, forward.output, 1e-13, what);
        EXPECT_NEAR(back.energy, forward.energy, 1e-13 * forward.energy) << what;
      }
    }
  }
}

TEST_P(PoissonIn, AddsToWhatSeveralHaveAndWritesTheRest) {
  const Problem problem({.elements = {4, 3, 3}, .order = 3});
  const std::size_t elements = problem.mesh.elements();
  const std::size_t of_first = problem.mesh.nodes_per_element();
  for (const Geometry geometry : geometries) {
    const auto unique = make(problem, geometry, Storage::unique);
    const Vector input = problem.random(Storage::unique, 4);
    const Vector added = problem.of_several(5, 0);
    Vector expected = apply(*unique, problem, input).output;
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += added[i];
    const Vector before = problem.of_several(5, std::numeric_limits<double>::quiet_NaN());
    expect_equal(apply(*unique, {{0, elements}}, input, before).output, expected, 1e-13, "unique");

    const auto by_element = make(problem, geometry, Storage::element);
    const Vector nodal = problem.random(Storage::element, 4);
    const Vector whole = apply(*by_element, problem, nodal).output;
    const Vector rest = apply(*by_element, {{1, elements}}, nodal, Vector(nodal.size(), 7.0)).output;
    for (std::size_t node = 0; node < rest.size(); ++node) {
      ASSERT_EQ(rest[node], node < of_first ? 7.0 : whole[node]) << "node " << node;
    }
  }
}

/// Compares A u of all ranks, by unknown.
TEST_P(PoissonIn, CombinedIsTheSameWithAndWithoutOverlap) {
  for (const Shape& shape : {Shape{.elements = {12, 3, 3}, .order = 3}, Shape{.elements = {4, 1, 1}, .order = 7}}) {
    const Problem problem(shape);
    if (shape.elements[0] == 12 && ranks > 1) {
      ASSERT_LT(problem.mesh.boundary_elements(), problem.mesh.elements()) << "there is something to do meanwhile";
    }
    Vector first;
    double first_energy = 0;
    for (const Storage storage : storages) {
      const auto poisson = make(problem, Geometry::trilinear, storage);
      auto ids = problem.ids;
      for (std::size_t node = 0; node < ids.size(); ++node) ids[node] *= problem.fixed[node] == 0 ? 1 : 0;
      const auto sharing =
          storage == Storage::unique ? problem.numbering.sharing : gather_scatter::discover(ids, world());
      const Context around = context();
      const auto lists = gather_scatter::make_lists(sharing, around);
      const auto sum = gather_scatter::make(gather_scatter::Method::pairwise, lists, {}, around);
      const auto in = uploaded(problem.random(storage, 6));
      for (const bool overlap : {false, true}) {
        AssembledPoisson<double> assembled(*poisson, *sum, problem.mesh.boundary_elements(), problem.mesh.elements(),
                                           overlap);
        for (int repetition = 0; repetition < 3; ++repetition) {
          const auto out = uploaded(Vector(problem.length(storage), 0.0));
          const auto energy = uploaded(Vector{0});
          assembled.apply(in.as<double>(), out.as<double>(), energy.as<double>(), *stream);
          const Vector found = problem.of_unknowns(downloaded<double>(out), storage);
          const double all_energy = world().sum_of_reals(downloaded<double>(energy).front());
          if (first.empty()) {
            first = found;
            first_energy = all_energy;
          }
          expect_equal(found, first, 1e-12, overlap ? "overlap" : "no overlap");
          EXPECT_NEAR(all_energy, first_energy, 1e-12 * first_energy);
        }
      }
    }
    // The energy is u . A u, where each unknown counts once.
    const Vector u = problem.random(Storage::unique, 6);
    double mine = 0;
    for (std::size_t i = 0; i < problem.numbering.owned; ++i) mine += u[i] * first[i];
    EXPECT_NEAR(world().sum_of_reals(mine), first_energy, 1e-12 * first_energy);
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, PoissonIn, memories, name_of);

}  // namespace
}  // namespace commlens::sem

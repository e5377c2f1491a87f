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

double inner_product(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
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

  /// Applies the operator to one range after the other. The output is `before` at first, and the energy 1024, to
  /// which it is added.
  [[nodiscard]] Applied apply(Poisson<double>& poisson, const std::vector<ElementRange>& ranges, const Vector& input,
                              const Vector& before) const {
    const auto in = uploaded(input);
    const auto out = uploaded(before);
    const auto energy = uploaded(Vector{1024});
    for (const ElementRange& range : ranges) {
      poisson.apply(range, in.as<double>(), out.as<double>(), energy.as<double>(), *stream);
    }
    return {downloaded<double>(out), downloaded<double>(energy).front() - 1024};
  }

  [[nodiscard]] Applied apply(Poisson<double>& poisson, const Problem& problem, const Vector& input) const {
    return apply(poisson, {{0, problem.mesh.elements()}}, input, Vector(input.size(), 0.0));
  }

  /// Calls check(poisson, storage) for each geometry in each of the storages.
  template <class Check>
  void for_each_kind(const Problem& problem, Check check,
                     const std::vector<Storage>& storages = {Storage::element, Storage::unique}) {
    for (const Geometry geometry : all_values<Geometry>()) {
      for (const Storage storage : storages) {
        SCOPED_TRACE(std::string(name(geometry)) + ", " + std::string(name(storage)) + ", order " +
                     std::to_string(problem.mesh.shape().order));
        check(*make(problem, geometry, storage), storage);
      }
    }
  }

  /// Looks at A u of the nodes that are not on a face of their element, where neighbors contribute nothing: u is
  /// function(point), and A u must be expected(node in each direction).
  template <class Function, class Expected>
  void expect_inside(const Problem& problem, Function function, Expected expected) {
    const auto points = problem.mesh.points();
    const auto n = static_cast<std::size_t>(problem.mesh.shape().order) + 1;
    Vector u(points.size());
    std::transform(points.begin(), points.end(), u.begin(), function);
    const auto check = [&](Poisson<double>& poisson, Storage /*storage*/) {
      const Vector output = apply(poisson, problem, u).output;
      const double scale = largest_of(output);
      EXPECT_GT(scale, 1e-3) << "on faces the contributions of neighbors are missing";
      for (std::size_t node = 0; node < output.size(); ++node) {
        const std::size_t at[3] = {node % n, node / n % n, node / (n * n) % n};
        if (!std::all_of(at, at + 3, [n](std::size_t i) { return i > 0 && i + 1 < n; })) continue;
        ASSERT_NEAR(output[node], expected(at), 1e-12 * std::min(scale, 1.0)) << "node " << node;
      }
    };
    for_each_kind(problem, check, {Storage::element});
  }

  /// Each kind of operator gives the same output and energy.
  void expect_same_of_each_kind(const Shape& shape) {
    const Problem problem(shape);
    Vector first;
    double first_energy = 0;
    for_each_kind(problem, [&](Poisson<double>& poisson, Storage storage) {
      const auto [output, energy] = apply(poisson, problem, problem.random(storage, 1));
      const Vector result = storage == Storage::element ? problem.by_unknown(output) : output;
      if (first.empty()) {
        first = result;
        first_energy = energy;
      }
      expect_equal(result, first, 1e-11, "output");
      EXPECT_NEAR(energy, first_energy, 1e-11 * first_energy);
    });
    EXPECT_GT(first_energy, 0);
  }
};

TEST_P(PoissonIn, GivesTheSameWhateverTheGeometryAndTheStorageAtEveryOrder) {
  for (int order = 1; order <= highest_order; ++order)
    expect_same_of_each_kind({.elements = {3, 2, 2}, .order = order});
}

/// So many that a block computes several elements, of which it copies the next one's input while it computes: two at
/// least on a GPU with up to 151 multiprocessors of 8 blocks.
TEST_P(PoissonIn, GivesTheSameOfMoreElementsThanBlocks) {
  if (world().size() > 1) GTEST_SKIP() << "one rank is enough";
  expect_same_of_each_kind({.elements = {17, 13, 11}, .order = 7});
}

TEST_P(PoissonIn, IsSymmetricAndItsEnergyIsInputTimesOutput) {
  for (const int order : {1, 2, 7, 8}) {
    const Problem problem({.elements = {5, 2, 3}, .order = order});
    for_each_kind(problem, [&](Poisson<double>& poisson, Storage storage) {
      const Vector u = problem.random(storage, 1);
      const Vector v = problem.random(storage, 2);
      const auto [au, energy_of_u] = apply(poisson, problem, u);
      const auto [av, energy_of_v] = apply(poisson, problem, v);
      EXPECT_NEAR(inner_product(v, au), inner_product(u, av), 1e-12 * energy_of_u);
      EXPECT_NEAR(inner_product(u, au), energy_of_u, 1e-12 * energy_of_u);
      EXPECT_NEAR(inner_product(v, av), energy_of_v, 1e-12 * energy_of_v);
    });
  }
}

/// The gradient is constant: all terms of the elements' deformation must cancel.
TEST_P(PoissonIn, OfALinearFunctionIsZeroInsideOfElements) {
  for (int order = 3; order <= highest_order; ++order) {
    expect_inside(
        Problem({.elements = {4, 2, 2}, .order = order}),
        [](const Point& at) { return 1 + 2 * at[0] - 3 * at[1] + 0.5 * at[2]; },
        [](const std::size_t* /*at*/) { return 0.0; });
  }
}

/// -laplace x^2 is -2, so that inside elements A x^2 is -2 times the mass matrix, which is known for boxes.
TEST_P(PoissonIn, OfASquareIsTheMassMatrix) {
  for (int order = 2; order <= highest_order; ++order) {
    const Problem problem({.elements = {4, 2, 1}, .order = order, .eps = 1});
    const double jacobian = 1.0 / 8 / (4 * 2 * 1);
    const auto& weights = problem.mesh.gll().weights;
    expect_inside(
        problem, [](const Point& at) { return at[0] * at[0]; },
        [&](const std::size_t* at) { return -2 * jacobian * weights[at[0]] * weights[at[1]] * weights[at[2]]; });
  }
}

TEST_P(PoissonIn, AddsUpOverRangesInBothTraversals) {
  for (const int order : {2, 4, 7}) {
    const Problem problem({.elements = {4, 3, 3}, .order = order});
    const std::size_t elements = problem.mesh.elements();
    const std::size_t cut = elements / 3;
    for_each_kind(problem, [&](Poisson<double>& poisson, Storage storage) {
      const Vector input = problem.random(storage, 7);
      const Applied whole = apply(poisson, problem, input);
      for (const auto traversal : {device::Traversal::forward, device::Traversal::backward}) {
        const Applied parts =
            apply(poisson, {{0, cut, traversal}, {cut, elements, traversal}}, input, Vector(input.size(), 0.0));
        expect_equal(parts.output, whole.output, 1e-13, "sum over ranges");
        EXPECT_NEAR(parts.energy, whole.energy, 1e-13 * whole.energy);
      }
    });
  }
}

TEST_P(PoissonIn, SubtractsFromEveryUnknown) {
  for (const int order : {1, 3, 7}) {
    const Problem problem({.elements = {4, 3, 3}, .order = order});
    const std::size_t elements = problem.mesh.elements();
    for (const Geometry geometry : {Geometry::stored, Geometry::trilinear}) {
      const auto poisson = make(problem, geometry, Storage::unique);
      const Vector input = problem.random(Storage::unique, 4);
      const auto in = uploaded(input);
      const auto vector = uploaded(problem.random(Storage::unique, 5));
      for (const ElementRange& range : {ElementRange{0, elements / 3}, ElementRange{elements / 3, elements}}) {
        poisson->subtract(range, in.as<double>(), vector.as<double>(), *stream);
      }
      Vector expected = problem.random(Storage::unique, 5);
      const Vector image = apply(*poisson, problem, input).output;
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= image[i];
      expect_equal(downloaded<double>(vector), expected, 1e-13, "order " + std::to_string(order));
    }
  }
}

TEST_P(PoissonIn, AddsToWhatSeveralHaveAndWritesTheRest) {
  const Problem problem({.elements = {4, 3, 3}, .order = 3});
  const std::size_t elements = problem.mesh.elements();
  const std::size_t of_first = problem.mesh.nodes_per_element();
  for_each_kind(problem, [&](Poisson<double>& poisson, Storage storage) {
    const Vector input = problem.random(storage, 4);
    Vector whole = apply(poisson, problem, input).output;
    if (storage == Storage::unique) {
      const Vector added = problem.of_several(5, 0);
      for (std::size_t i = 0; i < whole.size(); ++i) whole[i] += added[i];
      const Vector before = problem.of_several(5, std::numeric_limits<double>::quiet_NaN());
      expect_equal(apply(poisson, {{0, elements}}, input, before).output, whole, 1e-13, "unique");
      return;
    }
    const Vector rest = apply(poisson, {{1, elements}}, input, Vector(input.size(), 7.0)).output;
    for (std::size_t node = 0; node < rest.size(); ++node) {
      ASSERT_EQ(rest[node], node < of_first ? 7.0 : whole[node]) << "node " << node;
    }
  });
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
    for (const Storage storage : all_values<Storage>()) {
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
          const Vector result = problem.of_unknowns(downloaded<double>(out), storage);
          const double all_energy = world().sum_of_reals(downloaded<double>(energy).front());
          if (first.empty()) {
            first = result;
            first_energy = all_energy;
          }
          expect_equal(result, first, 1e-12, overlap ? "overlap" : "no overlap");
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

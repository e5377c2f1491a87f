#include "benchmarks/bp5/options.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

#include "base/error.hpp"
#include "benchmarks/spectral_elements/kershaw_options.hpp"
#include "sem/partition.hpp"

namespace commlens::bp5 {

namespace gs = gather_scatter;
using sem::Storage;

void Options::describe(OptionSet& options) {
  describe_mesh(options);
  options.add("storage", storage, "vectors: every node of every element, or every unknown once");
  describe_solve(options);
  options.add("exchange-dtype", exchange_type, "type of shared values in messages");
  describe_exchange(options);
}

void Options::describe_solve(OptionSet& options) {
  constexpr double below_one = 1 - std::numeric_limits<double>::epsilon() / 2;
  options.add("solver", solver,
              "conjugate gradients with two reductions per iteration, or with one (Chronopoulos and Gear)");
  describe_right_hand_side(options);
  options.add("iterations", iterations, "most iterations of a solve").shown_as([this] {
    return iterations > 0 ? std::to_string(iterations) : std::string("500; 20 in host memory");
  });
  options.add("tolerance", tolerance,
              {.least = 0, .most = below_one, .fix = "write a number from 0 to below 1, such as 1e-8"},
              "relative residual at which a solve ends");
}

std::vector<std::string> Options::scale_to_memory(const MemoryBudget& budget, int ranks) {
  on_gpu = budget.on_gpu;
  std::vector<std::string> notes;
  if (iterations == 0) {
    iterations = on_gpu ? 500 : 20;
    if (!on_gpu) {
      notes.emplace_back("20 iterations per solve in host memory, where nekRS does 500: --iterations changes it");
    }
  }
  refuse_iterations_beyond(budget);
  refuse_mesh_beyond(budget, ranks);
  return notes;
}

namespace {

/// Beside the operator and the solver: b, x and A x, and weights where nodes are stored by element.
double vectors_bytes(const Options& options, double length) {
  constexpr double scratch = 256.0 * 1024;  // of inner products, and what vectors are rounded up to
  const double vectors = options.storage == Storage::element ? 4 : 3;
  return vectors * sizeof(double) * length + scratch;
}

/// On the host, per node, while the mesh is numbered.
constexpr double set_up_bytes = 100;

/// Points of the lattice in a rank's box of elements.
double points_of(const sem::Block& block, int order) {
  double points = 1;
  for (const auto& [begin, end] : block) {
    points *= static_cast<double>((end - begin) * static_cast<std::size_t>(order) + 1);
  }
  return points;
}

}  // namespace

void Options::refuse_iterations_beyond(const MemoryBudget& budget) const {
  const double needed = solvers::ConjugateGradients::upper_bytes(0, static_cast<double>(iterations));
  if (needed <= budget.buffers / 2) return;
  refuse_for_memory("iterations", std::to_string(iterations), {.buffers = needed}, budget, "nekRS does 500 iterations");
}

/// Refuses a mesh whose lists alone are larger than the machine, before it is made.
void Options::refuse_mesh_beyond(const MemoryBudget& budget, int ranks) const {
  const double order = mesh.order();
  const double unknowns_per_node = storage == Storage::element ? 1 : std::pow(order / (order + 1), 3);
  const double nodes = mesh.largest(ranks).nodes_about(ranks);
  const double length = unknowns_per_node * nodes;
  const double bytes = sem::upper_bytes({.nodes = nodes}, geometry, storage) +
                       solvers::ConjugateGradients::upper_bytes(length, static_cast<double>(iterations)) +
                       vectors_bytes(*this, length);
  mesh.require_room({.buffers = bytes / nodes, .staging = set_up_bytes}, budget, ranks);
}

MemoryEstimate Options::memory_estimate(int rank, int ranks) const {
  const KershawOptions current = mesh.of_case(ranks);
  const sem::Partition partition = current.partition(ranks);
  const int order = current.shape.order;
  const auto elements = static_cast<double>(partition.count(rank));
  const double nodes = elements * std::pow(order + 1, 3);
  const double length = storage == Storage::element ? nodes : points_of(partition.block(rank), order);
  const double sent = sem::values_sent(partition, order);
  const auto exchange = gs::upper_bytes({.nodes = length, .sent = sent, .ranks = ranks}, exchange_kind());
  const double iteration = solvers::ConjugateGradients::upper_bytes(length, static_cast<double>(iterations));
  return {.buffers = vectors_bytes(*this, length) +
                     sem::upper_bytes({.elements = elements, .nodes = nodes}, geometry, storage) + iteration +
                     exchange.buffers,
          .staging = on_gpu ? exchange.staging : 0,
          .operation = 2 * sent * sizeof(double)};
}

}  // namespace commlens::bp5

#include "benchmarks/bp5/work.hpp"

#include <cstdint>

#include "benchmarks/spectral_elements/solve_report.hpp"
#include "gather_scatter/sharing.hpp"

namespace commlens::bp5 {

namespace {

/// If nothing stays in a cache between two kernels, and everything within one.
double bytes_per_iteration(const Problem& problem) {
  const Options& options = problem.options();
  const VectorLayout layout = problem.layout();
  const auto nodes = static_cast<double>(layout.mesh.nodes());
  const auto length = static_cast<double>(layout.length());
  const bool unique = options.storage == sem::Storage::unique;
  double bytes = solvers::ConjugateGradients::traffic(options.solver, problem.space());
  // The operator reads its input and writes its output, to a part of which it adds what is there, by numbers of
  // unknowns.
  bytes += 2 * length * sizeof(double);
  if (unique) {
    bytes += static_cast<double>(layout.length() - problem.space().added_from) * sizeof(double);
    bytes += nodes * sizeof(std::uint32_t);
  }
  bytes += options.geometry == sem::Geometry::stored
               ? nodes * 6 * sizeof(double)
               : static_cast<double>(layout.mesh.elements()) * 8 * 3 * sizeof(double);
  // The gather-scatter reads and writes what is in groups, by a number per node and one per group.
  const gather_scatter::Sharing& sharing = problem.sharing();
  const auto grouped = static_cast<double>(sharing.local.nodes.size() + sharing.shared.nodes.size());
  const auto groups = static_cast<double>(sharing.local.size() + sharing.shared.size());
  return bytes + grouped * (2 * sizeof(double) + sizeof(std::uint32_t)) + groups * sizeof(std::uint32_t);
}

}  // namespace

/// nekRS counts the vector operations, too.
Work work_of(const Problem& problem, int ranks) {
  const ElementWork work = element_work(problem.mesh(), ranks);
  return {.dof = work.dof,
          .flops_per_iteration = work.application + 16 * work.nodes,
          .flops_of_start = work.application + 9 * work.nodes,
          .bytes_per_iteration = bytes_per_iteration(problem)};
}

}  // namespace commlens::bp5

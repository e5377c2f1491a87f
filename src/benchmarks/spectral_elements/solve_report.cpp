#include "benchmarks/spectral_elements/solve_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace commlens {

void report_solve(Run& run, const SolveWork& work, bool with_dof_per_s) {
  const std::vector<double>& seconds = run.samples();
  if (seconds.empty()) return;
  const auto [least, largest] = std::minmax_element(seconds.begin(), seconds.end());
  const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  const double of_iterations = work.dof * static_cast<double>(work.iterations);
  run.report(fmt::format("repetitions: {}", seconds.size()));
  run.report(fmt::format("solve time: min: {:g}s  avg: {:g}s  max: {:g}s", *least, mean, *largest));
  run.report(fmt::format("iterations: {}", work.iterations));
  run.report(fmt::format("throughput: {:g} (DOF x iter)/s/rank", of_iterations / *least));
  if (with_dof_per_s) run.report(fmt::format("throughput: {:g} DOF/s/rank", work.dof / *least));
  run.report(fmt::format("flops/rank: {:g}", work.flops / *least));
}

CopyCeiling copy_ceiling(const Run& run, double vector_bytes, double bytes) {
  constexpr double least = 1 << 20;  // the time of smaller ones is mostly that of a call
  const double copied = std::max(least, run.communicator().maximum(vector_bytes) / 2);
  return {.bytes = static_cast<std::size_t>(copied), .copies = bytes / (2 * copied), .peer = run.rank()};
}

}  // namespace commlens

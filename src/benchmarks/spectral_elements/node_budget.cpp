#include "benchmarks/spectral_elements/node_budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/usage_error.hpp"

namespace commlens {

namespace {

double nodes_that_fit(const MemoryEstimate& per_node, const MemoryBudget& budget) {
  if (!budget.on_gpu) return budget.host / (per_node.buffers + per_node.staging);
  return std::min(budget.buffers / per_node.buffers, budget.host / per_node.staging);
}

}  // namespace

void require_room(const NodeRequest& request, const MemoryBudget& budget,
                  const std::function<std::string(double nodes)>& fix) {
  const double fitting = nodes_that_fit(request.per_node, budget);
  if (request.nodes > fitting) {
    refuse_for_memory(
        request.option, request.value,
        {.buffers = request.nodes * request.per_node.buffers, .staging = request.nodes * request.per_node.staging},
        budget, fix(std::min(fitting, request.limit)));
  }
  if (request.nodes <= request.limit) return;
  throw UsageError(request.option, request.value,
                   fmt::format("{:.0f} nodes per rank, of which at most {:.0f} can be numbered; {}", request.nodes,
                               request.limit, fix(request.limit)));
}

}  // namespace commlens

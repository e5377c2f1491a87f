// Whether so many nodes per rank fit into memory, before anything is counted node by node: a mesh beyond any machine
// must not be made, and its counts would overflow.
#pragma once

#include <functional>
#include <string>

#include "harness/memory_plan.hpp"

namespace commlens {

struct NodeRequest {
  std::string option;       ///< that asks for the nodes
  std::string value;        ///< of the option
  double nodes = 0;         ///< per rank, about
  MemoryEstimate per_node;  ///< `staging` is the host memory of the set-up
  double limit = 0;         ///< nodes per rank that can be numbered
};

/// Throws UsageError where the nodes do not fit or cannot be numbered. `fix` says what to ask for instead, from the
/// number of nodes per rank that are possible.
void require_room(const NodeRequest& request, const MemoryBudget& budget,
                  const std::function<std::string(double nodes)>& fix);

}  // namespace commlens

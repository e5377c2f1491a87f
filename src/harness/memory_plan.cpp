#include "harness/memory_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/format.hpp"

namespace commlens {

namespace {

constexpr double share_that_fits = 0.95;  // of the free memory: MPI and the GPU's runtime want some too

}  // namespace

bool MemoryBudget::fits(const MemoryEstimate& estimate) const {
  const double staging = estimate.staging + estimate.operation;
  if (on_gpu) return estimate.buffers <= buffers && staging <= host;
  return estimate.buffers + staging <= host;
}

void refuse_for_memory(const std::string& option, const std::string& value, const MemoryEstimate& needed,
                       const MemoryBudget& budget, const std::string& fix) {
  const double staging = needed.staging + needed.operation;
  const std::string wanted = budget.on_gpu ? fmt::format("{} of GPU memory and {} of host memory",
                                                         format_bytes(needed.buffers), format_bytes(staging))
                                           : fmt::format("{} of host memory", format_bytes(needed.buffers + staging));
  const std::string free = budget.on_gpu
                               ? fmt::format("{} and {}", format_bytes(budget.buffers), format_bytes(budget.host))
                               : format_bytes(budget.host);
  throw UsageError(option, value, fmt::format("needs {} on each rank, where {} are free; {}", wanted, free, fix));
}

MemoryPlan::MemoryPlan(const transport::Communicator& communicator, const transport::Communicator& node,
                       const device::Device& device, device::Memory memory)
    : communicator_(communicator), node_(node), device_(device), memory_(memory) {}

double MemoryPlan::free_bytes(device::Memory memory) const {
  return share_that_fits * static_cast<double>(device_.available(memory));
}

MemoryBudget MemoryPlan::budget() const {
  const auto stores = node_.gather(store());
  const auto sharers = static_cast<double>(std::count(stores.begin(), stores.end(), store()));
  std::vector<double> free{-free_bytes(memory_) / sharers, -free_bytes(device::Memory::host) / node_.size()};
  communicator_.maximum(free);
  return {.buffers = -free[0], .host = -free[1], .on_gpu = on_gpu(memory_)};
}

std::string MemoryPlan::refusal(const MemoryEstimate& estimate, double staging) const {
  staging += estimate.staging;
  // Who shares what: a GPU is shared by the ranks that see its uuid, the host by those of the node.
  std::map<std::string, double> wanted;
  for (const std::string& line : node_.gather(fmt::format("{} {}\nhost {}", store(), estimate.buffers, staging))) {
    std::istringstream stream(line);
    double bytes = 0;
    for (std::string key; stream >> key >> bytes;) wanted[key] += bytes;
  }
  std::string problem;
  const auto check = [&](const std::string& key, device::Memory memory, const std::string& kind) {
    const double free = free_bytes(memory);
    if (wanted[key] <= free) return;
    problem = fmt::format("needs {} of {} for the ranks that share it, {} for rank {}; {} are free: ask for less",
                          format_bytes(wanted[key]), kind, format_bytes(estimate.buffers + staging),
                          communicator_.rank(), format_bytes(free));
  };
  check("host", device::Memory::host, "host memory");
  if (on_gpu(memory_)) check(store(), device::Memory::device, "GPU memory");
  return communicator_.first(problem);
}

}  // namespace commlens

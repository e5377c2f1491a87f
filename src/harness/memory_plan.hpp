// Does a benchmark fit into memory? Asked before anything is allocated, of all ranks that share a GPU or a node.
#pragma once

#include <string>

#include "device/device.hpp"
#include "transport/communicator.hpp"

namespace commlens {

/// An upper estimate of what one case needs on one rank, in bytes; in floating point, because a request beyond any
/// machine must not wrap around.
struct MemoryEstimate {
  double buffers = 0;    ///< all that it will ask of Run::buffer()
  double staging = 0;    ///< all that it will ask of Run::staging_buffer()
  double operation = 0;  ///< the most that one operation of the transport moves: what `staged` copies
};

/// The bytes that a rank may use, the least over the ranks.
struct MemoryBudget {
  double buffers = 0;   ///< of the memory in which buffers are
  double host = 0;      ///< of host memory, where staging is; the same bytes where the buffers are there too
  bool on_gpu = false;  ///< the two are different memories

  [[nodiscard]] bool fits(const MemoryEstimate& estimate) const;
};

/// Throws UsageError of `option`: "needs 3 GiB of host memory on each rank, where 2 GiB are free; `fix`".
[[noreturn]] void refuse_for_memory(const std::string& option, const std::string& value, const MemoryEstimate& needed,
                                    const MemoryBudget& budget, const std::string& fix);

class MemoryPlan {
 public:
  /// `node` are the ranks that share this rank's host; `memory` is where this rank's buffers are.
  MemoryPlan(const transport::Communicator& communicator, const transport::Communicator& node,
             const device::Device& device, device::Memory memory);

  [[nodiscard]] MemoryBudget budget() const;  ///< collective
  /// Collective: why the ranks that share a memory cannot all have this much of it, the same on all ranks; empty if
  /// they can. `staging` is what transports need beside the estimate's.
  [[nodiscard]] std::string refusal(const MemoryEstimate& estimate, double staging) const;

 private:
  /// What identifies the memory in which buffers are: a GPU, or the host.
  [[nodiscard]] std::string store() const { return on_gpu(memory_) ? device_.gpu()->uuid : "host"; }
  /// Bytes that are free for all that share the memory, less what MPI and the GPU's runtime want.
  [[nodiscard]] double free_bytes(device::Memory memory) const;

  const transport::Communicator& communicator_;
  const transport::Communicator& node_;
  const device::Device& device_;
  device::Memory memory_;
};

}  // namespace commlens

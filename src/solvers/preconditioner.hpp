// An approximation of the inverse of an operator.
#pragma once

#include <cstddef>

#include "device/device.hpp"

namespace commlens::solvers {

class Preconditioner {
 public:
  virtual ~Preconditioner() = default;

  /// Elements beyond the vector's length that `input` of apply() must have: room for values of other ranks.
  [[nodiscard]] virtual std::size_t ghosts() const { return 0; }
  /// Queues output = S input. The ghosts of the input are overwritten. Collective.
  virtual void apply(float* input, float* output, device::Stream& stream) = 0;
  /// Whether the host never waits in apply(), so that it can be part of a device::Graph.
  [[nodiscard]] virtual bool enqueues() const = 0;
};

}  // namespace commlens::solvers

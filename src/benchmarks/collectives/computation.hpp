// What an application computes between the call of a non-blocking operation and its wait: multiply-adds of a known
// length, on the CPU or on the GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/enum_names.hpp"
#include "device/device.hpp"
#include "harness/run.hpp"

namespace commlens::collectives {

enum class Compute { cpu, gpu };
ENUM_NAMES(Compute, {cpu, "cpu"}, {gpu, "gpu"});

class Computation {
 public:
  /// Collective: as long as `communicate` takes on the slowest rank, with which it is to overlap. Throws Unsupported
  /// for a GPU where the run's memory is not on one.
  Computation(Run& run, Compute where, const std::function<void()>& communicate);

  /// On a GPU it is only queued, on a stream of its own.
  void start();
  void finish();

 private:
  void compute(std::size_t steps);
  /// Steps that take so long.
  std::size_t steps_for(double seconds);

  std::unique_ptr<device::Stream> stream_;  ///< nullptr: on the CPU
  device::Buffer numbers_;
  std::size_t steps_ = 1;
};

}  // namespace commlens::collectives

// What a gather-scatter is made of and from, in a benchmark.
#pragma once

#include "gather_scatter/gather_scatter.hpp"
#include "harness/run.hpp"

namespace commlens {

/// Its memory is the run's: declared in the benchmark's footprint. The run must outlive it.
inline gather_scatter::Surroundings surroundings_of(Run& run) {
  return {.communicator = run.communicator(),
          .transport = run.transport(),
          .device = run.device(),
          .memory = run.memory(),
          .stream = run.stream(),
          .allocate = [&run](std::size_t bytes) { return run.buffer(bytes); },
          .allocate_staging = [&run](std::size_t bytes) { return run.staging_buffer(bytes); }};
}

}  // namespace commlens

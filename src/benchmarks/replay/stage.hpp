// Replays through host memory, as an application does whose MPI does not take GPU memory: what a call sends is copied
// to the host before it, and what it has received is copied back.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "benchmarks/replay/function.hpp"
#include "benchmarks/replay/program.hpp"
#include "benchmarks/replay/trace.hpp"
#include "device/device.hpp"
#include "harness/run.hpp"

namespace commlens::replay {

/// A place on the host for each byte of a replay's memory.
class Stage {
 public:
  Stage(Run& run, const device::Buffer& memory, const std::vector<TraceType>& types);

  [[nodiscard]] void* place_of(const void* data) const { return host_.as<std::byte>() + offset_of(data); }
  /// Before the call, or before each start of a persistent one.
  void copy_out(const Arguments& call, const Shape& shape);
  /// After the call, or the completion of its request. Both return when the bytes are there.
  void copy_in(const Arguments& call, const Shape& shape, const MPI_Status& status);

 private:
  [[nodiscard]] std::ptrdiff_t offset_of(const void* data) const {
    return static_cast<const std::byte*>(data) - memory_.as<std::byte>();
  }

  device::Stream& stream_;
  const device::Buffer& memory_;
  const std::vector<TraceType>& types_;
  device::Buffer host_;
};

}  // namespace commlens::replay

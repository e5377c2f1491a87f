// Does the MPI library take GPU memory? What it says of itself, asked at run time, so that one binary serves every MPI.
#pragma once

#include <optional>
#include <string>

namespace commlens::transport {

struct GpuAwareness {
  std::optional<bool> says;  ///< nothing: the library has no way to tell
  std::string how;           ///< what was asked: "MPIX_Query_cuda_support"
};

/// `backend` is device::backend(). What the library says is not always true: the probe sends something to find out.
GpuAwareness mpi_gpu_awareness(const std::string& backend);

std::string mpi_library();                 ///< "Open MPI v5.0.7", without the build's details
std::optional<std::string> ucx_version();  ///< of the UCX that MPI has loaded, if it has

}  // namespace commlens::transport

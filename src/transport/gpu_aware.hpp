// Whether the MPI library accepts GPU memory, as it reports at run time, so that one binary works with every MPI
// library.
#pragma once

#include <optional>
#include <string>

namespace commlens::transport {

struct GpuAwareness {
  std::optional<bool> says;  ///< nothing: the library cannot tell
  std::string how;           ///< what was asked: "MPIX_Query_cuda_support"
};

/// `backend` is device::backend(). The library's answer is not always true: the probe tests it with messages.
GpuAwareness mpi_gpu_awareness(const std::string& backend);

std::optional<std::string> ucx_version();  ///< of the UCX that MPI has loaded, if any

}  // namespace commlens::transport

// Which MPI library the program runs with, and what it can.
#pragma once

#include <optional>
#include <string>

#include "base/enum_names.hpp"

namespace commlens::transport {

/// What the library says of itself (MPI_Get_library_version): free text, a line of some, a page of others.
std::string mpi_library_version();
/// "Open MPI 5.0.7", "MPICH 4.0.2", "Intel MPI 2021.11", "Cray MPICH 8.1.28", "MVAPICH 3.0", "SMPI 3.32".
std::string mpi_library();
/// What its settings and its launcher are like: "openmpi", "mpich" (with those made of it), "intel", or "other".
std::string mpi_family();

/// The same of any such text. Of an unknown library the name is the beginning of the first line.
std::string mpi_library_in(const std::string& text);
std::string mpi_family_in(const std::string& text);

/// Whether the ranks are in one process, on simulated nodes and in a simulated time (SimGrid's SMPI). What the system
/// says of hosts and cores is not theirs, and only MPI may wait: no threads, and no loop that ends after a time of
/// computing.
bool mpi_is_simulated();

/// What MPI allows a program's threads to do: each what those before it do. More of it may cost time in each call.
enum class ThreadLevel { single, funneled, serialized, multiple };
ENUM_NAMES(ThreadLevel, {single, "single"}, {funneled, "funneled"}, {serialized, "serialized"}, {multiple, "multiple"});

/// MPI's constant: MPI_THREAD_SINGLE ...
int native(ThreadLevel level);
/// That MPI provides, once it is initialized.
ThreadLevel provided_thread_level();

/// Whether the library accepts GPU memory, as it reports at run time, so that one binary works with every MPI library.
struct GpuAwareness {
  std::optional<bool> says;  ///< nothing: the library cannot tell
  std::string how;           ///< what was asked: "MPIX_Query_cuda_support"
};

/// `backend` is device::backend(). The library's answer is not always true: the probe tests it with messages.
GpuAwareness mpi_gpu_awareness(const std::string& backend);

std::optional<std::string> ucx_version();  ///< of the UCX that MPI has loaded, if any

}  // namespace commlens::transport

#include "transport/gpu_aware.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <cstdlib>
#include <cstring>

namespace commlens::transport {

namespace {

template <class Function>
Function* symbol(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

GpuAwareness mpi_gpu_awareness(const std::string& backend) {
  // Cray MPICH: off unless the variable is 1, whatever the library could do.
  const char* cray = std::getenv("MPICH_GPU_SUPPORT_ENABLED");
  if (cray != nullptr && std::strcmp(cray, "1") != 0) return {false, "MPICH_GPU_SUPPORT_ENABLED=" + std::string(cray)};

  const bool hip = backend == "hip";
  // Open MPI: https://docs.open-mpi.org/en/main/tuning-apps/networking/cuda.html
  const char* open_mpi = hip ? "MPIX_Query_rocm_support" : "MPIX_Query_cuda_support";
  if (auto* query = symbol<int()>(open_mpi)) return {query() != 0, open_mpi};

  // MPICH 4: MPIX_GPU_SUPPORT_CUDA is 0, MPIX_GPU_SUPPORT_HIP is 2.
  if (auto* query = symbol<int(int, int*)>("MPIX_GPU_query_support")) {
    int supported = 0;
    if (query(hip ? 2 : 0, &supported) == MPI_SUCCESS) return {supported != 0, "MPIX_GPU_query_support"};
  }
  return {std::nullopt, "MPIX_Query_cuda_support, MPIX_GPU_query_support (the library has neither)"};
}

std::optional<std::string> ucx_version() {
  if (auto* query = symbol<const char*()>("ucp_get_version_string")) return query();
  // Open MPI loads its UCX component with local symbols.
  void* library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  auto* query = reinterpret_cast<const char* (*)()>(dlsym(library, "ucp_get_version_string"));
  std::optional<std::string> version;
  if (query != nullptr) version = query();
  dlclose(library);
  return version;
}

}  // namespace commlens::transport

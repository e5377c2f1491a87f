// How many blocks of a kernel a GPU holds, and for which GPUs it was compiled.
#pragma once

#include <algorithm>
#include <cstddef>

#include "device/gpu/check.hpp"

namespace commlens::device::gpu {

/// Blocks of the kernel that are resident on the GPU at the same time.
template <class Kernel>
unsigned resident_blocks(Kernel kernel, int threads, std::size_t shared_bytes) {
  constexpr std::size_t default_limit = 48 * 1024;
  if (shared_bytes > default_limit) {
    GPU_CALL(FuncSetAttribute, reinterpret_cast<const void*>(kernel), GPU_NAME(FuncAttributeMaxDynamicSharedMemorySize),
             static_cast<int>(shared_bytes));
  }
  int per_processor = 0;
  GPU_CALL(OccupancyMaxActiveBlocksPerMultiprocessor, &per_processor, kernel, threads, shared_bytes);
  int device = 0;
  GPU_CALL(GetDevice, &device);
  int processors = 0;
  GPU_CALL(DeviceGetAttribute, &processors, GPU_NAME(DevAttrMultiProcessorCount), device);
  return static_cast<unsigned>(std::max(1, per_processor * processors));
}

#if defined(COMMLENS_CUDA)
/// __CUDA_ARCH__ / 10 in the kernel's code: 90 for sm_90, and for code that the driver has made from PTX of compute_90.
template <class Kernel>
int ptx_version(Kernel kernel) {
  cudaFuncAttributes attributes;
  GPU_CALL(FuncGetAttributes, &attributes, kernel);
  return attributes.ptxVersion;
}
#endif

}  // namespace commlens::device::gpu

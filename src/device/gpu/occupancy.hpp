// How many blocks of a kernel a GPU holds.
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
    GPU_CALL(gpuFuncSetAttribute, reinterpret_cast<const void*>(kernel), gpuFuncAttributeMaxDynamicSharedMemorySize,
             static_cast<int>(shared_bytes));
  }
  int per_processor = 0;
  GPU_CALL(gpuOccupancyMaxActiveBlocksPerMultiprocessor, &per_processor, kernel, threads, shared_bytes);
  int device = 0;
  GPU_CALL(gpuGetDevice, &device);
  int processors = 0;
  GPU_CALL(gpuDeviceGetAttribute, &processors, gpuDevAttrMultiProcessorCount, device);
  return static_cast<unsigned>(std::max(1, per_processor * processors));
}

}  // namespace commlens::device::gpu

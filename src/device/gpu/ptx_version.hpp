// For which GPUs a kernel was compiled: CUDA alone.
#pragma once

#include "device/gpu/check.hpp"

namespace commlens::device::gpu {

#if defined(COMMLENS_CUDA)
/// __CUDA_ARCH__ / 10 in the kernel's code: 90 for sm_90, and for code that the driver has made from PTX of compute_90.
template <class Kernel>
int ptx_version(Kernel kernel) {
  cudaFuncAttributes attributes;
  GPU_CALL(cudaFuncGetAttributes, &attributes, kernel);
  return attributes.ptxVersion;
}
#endif

}  // namespace commlens::device::gpu

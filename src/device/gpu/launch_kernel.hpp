// Launches of kernels that may begin while the kernel before them in the stream ends: CUDA's programmatic dependent
// launch, sm_90 or newer. Elsewhere a kernel begins when the one before has ended.
//
// Such a kernel calls wait_for_kernel_before() in all of its threads. Until then it may read what the kernel before
// does not write, and write nothing. As each lets the next one begin only after its own waiting, all kernels but the
// one before have ended even at the beginning.
#pragma once

#include <cstddef>

#include "device/gpu/check.hpp"

namespace commlens::device::gpu {

/// Also lets the next kernel begin, as soon as all blocks of this one have come here and leave it room.
__device__ inline void wait_for_kernel_before() {
#if defined(COMMLENS_CUDA) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#if defined(COMMLENS_CUDA)

/// Whether the kernel's code waits: it may come from a compilation for older GPUs.
template <class Kernel>
bool waits_for_kernel_before(Kernel* kernel) {
  cudaFuncAttributes attributes;
  GPU_CALL(cudaFuncGetAttributes, &attributes, kernel);
  return attributes.ptxVersion >= 90;
}

/// `kernel` must call wait_for_kernel_before().
template <auto kernel, class... Arguments>
void launch_early(dim3 blocks, dim3 threads, std::size_t shared_bytes, void* stream, const Arguments&... arguments) {
  static const bool waits = waits_for_kernel_before(kernel);
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = blocks;
  launch.blockDim = threads;
  launch.dynamicSmemBytes = shared_bytes;
  launch.stream = static_cast<gpuStream_t>(stream);
  launch.attrs = &early;
  launch.numAttrs = waits ? 1 : 0;
  check(cudaLaunchKernelEx(&launch, kernel, arguments...), "kernel launch");
}

#else

template <auto kernel, class... Arguments>
void launch_early(dim3 blocks, dim3 threads, std::size_t shared_bytes, void* stream, const Arguments&... arguments) {
  kernel<<<blocks, threads, shared_bytes, static_cast<gpuStream_t>(stream)>>>(arguments...);
  check(gpuGetLastError(), "kernel launch");
}

#endif

}  // namespace commlens::device::gpu

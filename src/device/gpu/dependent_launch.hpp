// Programmatic dependent launch (CUDA, sm_90 or newer): a kernel begins while the previous one in the stream ends.
// Elsewhere it begins when the previous one has ended.
//
// Such a kernel calls wait_for_previous_kernel() in all of its threads. Until then it may only read, and only what the
// previous kernel does not write. All kernels before that one have ended by then, since each lets the next one begin
// only after its own wait.
#pragma once

#include <cstddef>

#include "device/gpu/check.hpp"
#include "device/gpu/occupancy.hpp"

namespace commlens::device::gpu {

/// Also lets the next kernel begin, as soon as all blocks of this one have come here and leave it room.
__device__ inline void wait_for_previous_kernel() {
#if defined(COMMLENS_CUDA) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#if defined(COMMLENS_CUDA)

/// `kernel` must call wait_for_previous_kernel().
template <auto kernel, class... Arguments>
void launch_dependent(dim3 blocks, dim3 threads, std::size_t shared_bytes, void* stream,
                      const Arguments&... arguments) {
  static const bool waits = ptx_version(kernel) >= 90;  // its code may come from a compilation for older GPUs
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
void launch_dependent(dim3 blocks, dim3 threads, std::size_t shared_bytes, void* stream,
                      const Arguments&... arguments) {
  kernel<<<blocks, threads, shared_bytes, static_cast<gpuStream_t>(stream)>>>(arguments...);
  check(gpuGetLastError(), "kernel launch");
}

#endif

}  // namespace commlens::device::gpu

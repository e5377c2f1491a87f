// The one file that chooses between CUDA and HIP. The rest of the GPU backend gets the vendors' names, which mostly
// differ by their prefix only, from macros: GPU_NAME(Malloc) is cudaMalloc or hipMalloc. What else differs is here.
// ccl.hpp does the same for NCCL and RCCL.
//
// COMMLENS_CUDA or COMMLENS_HIP is defined by the build, for files of a GPU build only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#if defined(COMMLENS_CUDA)

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cufft.h>
#define GPU_NAME(name) cuda##name
#define GPUBLAS_NAME(name) cublas##name
#define GPUBLAS_VALUE(name) CUBLAS_##name
#define GPUFFT_NAME(name) cufft##name
#define GPUFFT_VALUE(name) CUFFT_##name
#define COMMLENS_GPU_BACKEND "cuda"

#elif defined(COMMLENS_HIP)

#include <hip/hip_runtime.h>
#include <hipblas/hipblas.h>
#include <hipfft/hipfft.h>
#define GPU_NAME(name) hip##name
#define GPUBLAS_NAME(name) hipblas##name
#define GPUBLAS_VALUE(name) HIPBLAS_##name
#define GPUFFT_NAME(name) hipfft##name
#define GPUFFT_VALUE(name) HIPFFT_##name
#define COMMLENS_GPU_BACKEND "hip"

#endif

#if defined(GPU_NAME)

#define gpuStream_t GPU_NAME(Stream_t)
#define gpuGetLastError GPU_NAME(GetLastError)

/// "cuFFT 12.0.1" of 12001: in units of the major and of the minor version.
inline std::string gpuVersionText(const char* library, int version, int major, int minor) {
  return std::string(library) + " " + std::to_string(version / major) + "." + std::to_string(version % major / minor) +
         "." + std::to_string(version % minor);
}

// Differences in more than a prefix.
#if defined(COMMLENS_CUDA)
#define gpuShuffleDown(value, distance, width) __shfl_down_sync(0xFFFFFFFFU, value, distance, width)
#define gpuLoadStreaming __ldcs
#define gpuStoreStreaming __stcs
#if defined(__CUDACC__)
/// In the GPU's own memory. For sm_90 nvcc 13 turns atomicAdd() into an instruction that returns the old value, even
/// where it is unused.
__device__ inline void gpuAtomicAdd(double* to, double value) {
  asm volatile("red.relaxed.gpu.global.add.f64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "d"(value) : "memory");
}
__device__ inline void gpuAtomicAdd(float* to, float value) {
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "f"(value) : "memory");
}
/// Also in managed memory.
#define gpuAtomicAddManaged gpuAtomicAdd
/// 1 / x with a relative error of at most 2^-19; 0 or infinite where x or 1 / x is no normal number.
__device__ inline double gpuReciprocalEstimate(double x) {
  double estimate;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(estimate) : "d"(x));
  return estimate;
}
#endif
/// Hides from the compiler how a value of 32 bits came about.
#define gpuForget(value) asm("" : "+r"(value))
/// Of a kernel: threads per block, and blocks per multiprocessor that its registers must suffice for (0: any number).
#define gpuLaunchBounds(threads, blocks) __launch_bounds__(threads, blocks)
/// A parameter of a kernel whose address may be taken, and which is not copied then.
#define gpuGridConstant __grid_constant__
/// Memory that other GPUs store to while a kernel looks at it.
#define gpuMallocFlags(data, bytes) cudaMalloc(data, bytes)
#define cudaHostMalloc cudaMallocHost
#define cudaHostFree cudaFreeHost
#define gpublasGetStatusText cublasGetStatusString
using gpublasDataType_t = cudaDataType_t;
using gpublasComputeType_t = cublasComputeType_t;
#define GPUBLAS_TYPE(name) CUDA_##name
#define GPUBLAS_COMPUTE(name, bits) CUBLAS_COMPUTE_##bits
inline std::string gpublasLibrary(cublasHandle_t handle) {
  int version = 0;
  (void)cublasGetVersion(handle, &version);
  return gpuVersionText("cuBLAS", version, 10000, 100);
}
#define gpufftBackward CUFFT_INVERSE
inline std::string gpufftLibrary() {
  int version = 0;
  (void)cufftGetVersion(&version);
  return gpuVersionText("cuFFT", version, 1000, 100);
}
#if CUBLAS_VERSION >= 130100
#define gpublasTunedAlgorithm CUBLAS_GEMM_AUTOTUNE
#else
#define gpublasTunedAlgorithm GPUBLAS_VALUE(GEMM_DEFAULT)
#endif
using gpuDeviceProperties = cudaDeviceProp;
/// The bytes of the GPU's uuid; none if the runtime does not know it (HIP before 5.6).
inline std::string_view gpuUuid(const gpuDeviceProperties& properties) {
  return {properties.uuid.bytes, sizeof properties.uuid.bytes};
}
#else
#define gpuShuffleDown(value, distance, width) __shfl_down(value, distance, width)
#define gpuForget(value) (void)(value)
/// The hardware instruction, which needs memory of the GPU itself, rather than a compare-and-swap loop.
#define gpuAtomicAdd unsafeAtomicAdd
#define gpuAtomicAddManaged atomicAdd
#define gpuLoadStreaming __builtin_nontemporal_load
#define gpuStoreStreaming(to, value) __builtin_nontemporal_store(value, to)
#define gpuReciprocalEstimate(x) __builtin_amdgcn_rcp(x)
/// HIP counts wavefronts of 64 threads per SIMD unit, of which a compute unit has four, where CUDA counts blocks.
#define gpuLaunchBounds(threads, blocks) __launch_bounds__(threads, ((threads) + 63) / 64 * (blocks) / 4)
#define hipDevAttrMultiProcessorCount hipDeviceAttributeMultiprocessorCount
#define gpuGridConstant
#define gpuMallocFlags(data, bytes) hipExtMallocWithFlags(data, bytes, hipDeviceMallocFinegrained)
#define gpublasGetStatusText hipblasStatusToString
inline std::string gpublasLibrary(hipblasHandle_t) {
  return "hipBLAS " + std::to_string(hipblasVersionMajor) + "." + std::to_string(hipblasVersionMinor);
}
#define gpufftBackward HIPFFT_BACKWARD
inline std::string gpufftLibrary() {
  int version = 0;
  (void)hipfftGetVersion(&version);
  return gpuVersionText("hipFFT", version, 10000, 100);
}
#define gpublasTunedAlgorithm GPUBLAS_VALUE(GEMM_DEFAULT)
#if defined(HIPBLAS_V2) || hipblasVersionMajor >= 3
using gpublasDataType_t = hipDataType;
using gpublasComputeType_t = hipblasComputeType_t;
#define GPUBLAS_TYPE(name) HIP_##name
#define GPUBLAS_COMPUTE(name, bits) HIPBLAS_COMPUTE_##bits
#else
/// Up to hipBLAS 2 the type of the result is also that of the computation.
using gpublasDataType_t = hipblasDatatype_t;
using gpublasComputeType_t = hipblasDatatype_t;
#define GPUBLAS_TYPE(name) HIPBLAS_##name
#define GPUBLAS_COMPUTE(name, bits) HIPBLAS_##name
#endif
using gpuDeviceProperties = hipDeviceProp_t;
inline std::string_view gpuUuid(const gpuDeviceProperties&) { return {}; }
#if HIP_VERSION < 50300000
/// HIP 5.2 declares hipLaunchHostFunc, but its library does not have it; hipStreamAddCallback does the same.
inline hipError_t gpuLaunchHostFunc(hipStream_t stream, void (*function)(void*), void* data) {
  struct Call {
    void (*function)(void*);
    void* data;
  };
  auto call = std::make_unique<Call>(Call{function, data});
  const auto run = [](hipStream_t, hipError_t, void* argument) {
    const std::unique_ptr<Call> owned(static_cast<Call*>(argument));
    owned->function(owned->data);
  };
  const hipError_t status = hipStreamAddCallback(stream, run, call.get(), 0);
  if (status == hipSuccess) (void)call.release();  // run() owns it now
  return status;
}
#define hipLaunchHostFunc gpuLaunchHostFunc
#endif
#endif

#endif

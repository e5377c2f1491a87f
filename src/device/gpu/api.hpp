// The one file that chooses between CUDA and HIP. The rest of the GPU backend is written against the names here, which
// differ from the vendors' only by their prefix; ccl.hpp does the same for NCCL and RCCL.
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
#define COMMLENS_GPU_NAME(name) cuda##name
#define COMMLENS_GPUBLAS_NAME(name) cublas##name
#define COMMLENS_GPUBLAS_VALUE(name) CUBLAS_##name
#define COMMLENS_GPUFFT_NAME(name) cufft##name
#define COMMLENS_GPUFFT_VALUE(name) CUFFT_##name
#define COMMLENS_GPU_BACKEND "cuda"

#elif defined(COMMLENS_HIP)

#include <hip/hip_runtime.h>
#include <hipblas/hipblas.h>
#include <hipfft/hipfft.h>
#define COMMLENS_GPU_NAME(name) hip##name
#define COMMLENS_GPUBLAS_NAME(name) hipblas##name
#define COMMLENS_GPUBLAS_VALUE(name) HIPBLAS_##name
#define COMMLENS_GPUFFT_NAME(name) hipfft##name
#define COMMLENS_GPUFFT_VALUE(name) HIPFFT_##name
#define COMMLENS_GPU_BACKEND "hip"

#endif

#if defined(COMMLENS_GPU_NAME)

// Types
#define gpuError_t COMMLENS_GPU_NAME(Error_t)
#define gpuStream_t COMMLENS_GPU_NAME(Stream_t)
#define gpuEvent_t COMMLENS_GPU_NAME(Event_t)
#define gpuGraph_t COMMLENS_GPU_NAME(Graph_t)
#define gpuGraphExec_t COMMLENS_GPU_NAME(GraphExec_t)

// Values
#define gpuSuccess COMMLENS_GPU_NAME(Success)
#define gpuErrorPeerAccessAlreadyEnabled COMMLENS_GPU_NAME(ErrorPeerAccessAlreadyEnabled)
#define gpuMemcpyDefault COMMLENS_GPU_NAME(MemcpyDefault)
#define gpuStreamNonBlocking COMMLENS_GPU_NAME(StreamNonBlocking)
#define gpuMemAttachGlobal COMMLENS_GPU_NAME(MemAttachGlobal)
#define gpuStreamCaptureModeThreadLocal COMMLENS_GPU_NAME(StreamCaptureModeThreadLocal)

// Functions
#define gpuGetErrorString COMMLENS_GPU_NAME(GetErrorString)
#define gpuGetLastError COMMLENS_GPU_NAME(GetLastError)
#define gpuGetDevice COMMLENS_GPU_NAME(GetDevice)
#define gpuSetDevice COMMLENS_GPU_NAME(SetDevice)
#define gpuGetDeviceCount COMMLENS_GPU_NAME(GetDeviceCount)
#define gpuDeviceGetPCIBusId COMMLENS_GPU_NAME(DeviceGetPCIBusId)
#define gpuDeviceSynchronize COMMLENS_GPU_NAME(DeviceSynchronize)
#define gpuDeviceCanAccessPeer COMMLENS_GPU_NAME(DeviceCanAccessPeer)
#define gpuDeviceEnablePeerAccess COMMLENS_GPU_NAME(DeviceEnablePeerAccess)
#define gpuDriverGetVersion COMMLENS_GPU_NAME(DriverGetVersion)
#define gpuRuntimeGetVersion COMMLENS_GPU_NAME(RuntimeGetVersion)
#define gpuMalloc COMMLENS_GPU_NAME(Malloc)
#define gpuMallocManaged COMMLENS_GPU_NAME(MallocManaged)
#define gpuFree COMMLENS_GPU_NAME(Free)
#define gpuMemGetInfo COMMLENS_GPU_NAME(MemGetInfo)
#define gpuMemcpyAsync COMMLENS_GPU_NAME(MemcpyAsync)
#define gpuMemsetAsync COMMLENS_GPU_NAME(MemsetAsync)
#define gpuStreamCreateWithPriority COMMLENS_GPU_NAME(StreamCreateWithPriority)
#define gpuDeviceGetStreamPriorityRange COMMLENS_GPU_NAME(DeviceGetStreamPriorityRange)
#define gpuStreamDestroy COMMLENS_GPU_NAME(StreamDestroy)
#define gpuStreamSynchronize COMMLENS_GPU_NAME(StreamSynchronize)
#define gpuStreamWaitEvent COMMLENS_GPU_NAME(StreamWaitEvent)
#define gpuStreamBeginCapture COMMLENS_GPU_NAME(StreamBeginCapture)
#define gpuStreamEndCapture COMMLENS_GPU_NAME(StreamEndCapture)
#define gpuGraphInstantiate COMMLENS_GPU_NAME(GraphInstantiateWithFlags)
#define gpuGraphDestroy COMMLENS_GPU_NAME(GraphDestroy)
#define gpuGraphExecDestroy COMMLENS_GPU_NAME(GraphExecDestroy)
#define gpuGraphLaunch COMMLENS_GPU_NAME(GraphLaunch)
#define gpuDeviceGetAttribute COMMLENS_GPU_NAME(DeviceGetAttribute)
#define gpuFuncSetAttribute COMMLENS_GPU_NAME(FuncSetAttribute)
#define gpuOccupancyMaxActiveBlocksPerMultiprocessor COMMLENS_GPU_NAME(OccupancyMaxActiveBlocksPerMultiprocessor)
#define gpuEventCreate COMMLENS_GPU_NAME(EventCreate)
#define gpuEventDestroy COMMLENS_GPU_NAME(EventDestroy)
#define gpuEventRecord COMMLENS_GPU_NAME(EventRecord)
#define gpuEventSynchronize COMMLENS_GPU_NAME(EventSynchronize)
#define gpuEventElapsedTime COMMLENS_GPU_NAME(EventElapsedTime)
#define gpuIpcMemHandle_t COMMLENS_GPU_NAME(IpcMemHandle_t)
#define gpuIpcGetMemHandle COMMLENS_GPU_NAME(IpcGetMemHandle)
#define gpuIpcOpenMemHandle COMMLENS_GPU_NAME(IpcOpenMemHandle)
#define gpuIpcCloseMemHandle COMMLENS_GPU_NAME(IpcCloseMemHandle)
#define gpuGetDeviceProperties COMMLENS_GPU_NAME(GetDeviceProperties)
#define gpuIpcMemLazyEnablePeerAccess COMMLENS_GPU_NAME(IpcMemLazyEnablePeerAccess)

// Matrix products
#define gpublasStatus_t COMMLENS_GPUBLAS_NAME(Status_t)
#define gpublasHandle_t COMMLENS_GPUBLAS_NAME(Handle_t)
#define gpublasOperation_t COMMLENS_GPUBLAS_NAME(Operation_t)
#define gpublasCreate COMMLENS_GPUBLAS_NAME(Create)
#define gpublasDestroy COMMLENS_GPUBLAS_NAME(Destroy)
#define gpublasSetStream COMMLENS_GPUBLAS_NAME(SetStream)
#define gpublasGemmEx COMMLENS_GPUBLAS_NAME(GemmEx)
#define gpublasSuccess COMMLENS_GPUBLAS_VALUE(STATUS_SUCCESS)
#define gpublasNoTranspose COMMLENS_GPUBLAS_VALUE(OP_N)
#define gpublasTranspose COMMLENS_GPUBLAS_VALUE(OP_T)
#define gpublasAdjoint COMMLENS_GPUBLAS_VALUE(OP_C)
#define gpublasDefaultAlgorithm COMMLENS_GPUBLAS_VALUE(GEMM_DEFAULT)
#define gpublasF32 COMMLENS_GPUBLAS_TYPE(R_32F)
#define gpublasF64 COMMLENS_GPUBLAS_TYPE(R_64F)
#define gpublasC64 COMMLENS_GPUBLAS_TYPE(C_32F)
#define gpublasC128 COMMLENS_GPUBLAS_TYPE(C_64F)
#define gpublasComputeF32 COMMLENS_GPUBLAS_COMPUTE(R_32F, 32F)
#define gpublasComputeF64 COMMLENS_GPUBLAS_COMPUTE(R_64F, 64F)
#define gpublasComputeC64 COMMLENS_GPUBLAS_COMPUTE(C_32F, 32F)
#define gpublasComputeC128 COMMLENS_GPUBLAS_COMPUTE(C_64F, 64F)

// Fourier transforms
#define gpufftResult COMMLENS_GPUFFT_NAME(Result)
#define gpufftHandle COMMLENS_GPUFFT_NAME(Handle)
#define gpufftComplex64 COMMLENS_GPUFFT_NAME(Complex)
#define gpufftComplex128 COMMLENS_GPUFFT_NAME(DoubleComplex)
#define gpufftCreate COMMLENS_GPUFFT_NAME(Create)
#define gpufftDestroy COMMLENS_GPUFFT_NAME(Destroy)
#define gpufftMakePlanMany64 COMMLENS_GPUFFT_NAME(MakePlanMany64)
#define gpufftSetStream COMMLENS_GPUFFT_NAME(SetStream)
#define gpufftExecC64 COMMLENS_GPUFFT_NAME(ExecC2C)
#define gpufftExecC128 COMMLENS_GPUFFT_NAME(ExecZ2Z)
#define gpufftC64 COMMLENS_GPUFFT_VALUE(C2C)
#define gpufftC128 COMMLENS_GPUFFT_VALUE(Z2Z)
#define gpufftForward COMMLENS_GPUFFT_VALUE(FORWARD)
#define gpufftSuccess COMMLENS_GPUFFT_VALUE(SUCCESS)
#define gpufftAllocFailed COMMLENS_GPUFFT_VALUE(ALLOC_FAILED)
#define gpufftInvalidSize COMMLENS_GPUFFT_VALUE(INVALID_SIZE)
#define gpufftInvalidDevice COMMLENS_GPUFFT_VALUE(INVALID_DEVICE)
#define gpufftExecFailed COMMLENS_GPUFFT_VALUE(EXEC_FAILED)
#define gpufftSetupFailed COMMLENS_GPUFFT_VALUE(SETUP_FAILED)
#define gpufftNotSupported COMMLENS_GPUFFT_VALUE(NOT_SUPPORTED)

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
#define gpuFuncAttributeMaxDynamicSharedMemorySize cudaFuncAttributeMaxDynamicSharedMemorySize
#define gpuDevAttrMultiProcessorCount cudaDevAttrMultiProcessorCount
/// A parameter of a kernel whose address may be taken, and which is not copied then.
#define gpuGridConstant __grid_constant__
/// Memory that other GPUs store to while a kernel looks at it.
#define gpuMallocFlags(data, bytes) cudaMalloc(data, bytes)
#define gpuHostAlloc cudaMallocHost
#define gpuHostFree cudaFreeHost
#define gpuLaunchHostFunc cudaLaunchHostFunc
#define gpublasGetStatusText cublasGetStatusString
using gpublasDataType_t = cudaDataType_t;
using gpublasComputeType_t = cublasComputeType_t;
#define COMMLENS_GPUBLAS_TYPE(name) CUDA_##name
#define COMMLENS_GPUBLAS_COMPUTE(name, bits) CUBLAS_COMPUTE_##bits
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
#define gpublasTunedAlgorithm gpublasDefaultAlgorithm
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
#define gpuLoadStreaming __builtin_nontemporal_load
#define gpuStoreStreaming(to, value) __builtin_nontemporal_store(value, to)
#define gpuReciprocalEstimate(x) __builtin_amdgcn_rcp(x)
/// HIP counts wavefronts of 64 threads per SIMD unit, of which a compute unit has four, where CUDA counts blocks.
#define gpuLaunchBounds(threads, blocks) __launch_bounds__(threads, ((threads) + 63) / 64 * (blocks) / 4)
#define gpuFuncAttributeMaxDynamicSharedMemorySize hipFuncAttributeMaxDynamicSharedMemorySize
#define gpuDevAttrMultiProcessorCount hipDeviceAttributeMultiprocessorCount
#define gpuGridConstant
#define gpuMallocFlags(data, bytes) hipExtMallocWithFlags(data, bytes, hipDeviceMallocFinegrained)
#define gpuHostAlloc hipHostMalloc
#define gpuHostFree hipHostFree
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
#define gpublasTunedAlgorithm gpublasDefaultAlgorithm
#if defined(HIPBLAS_V2) || hipblasVersionMajor >= 3
using gpublasDataType_t = hipDataType;
using gpublasComputeType_t = hipblasComputeType_t;
#define COMMLENS_GPUBLAS_TYPE(name) HIP_##name
#define COMMLENS_GPUBLAS_COMPUTE(name, bits) HIPBLAS_COMPUTE_##bits
#else
/// Up to hipBLAS 2 the type of the result is also that of the computation.
using gpublasDataType_t = hipblasDatatype_t;
using gpublasComputeType_t = hipblasDatatype_t;
#define COMMLENS_GPUBLAS_TYPE(name) HIPBLAS_##name
#define COMMLENS_GPUBLAS_COMPUTE(name, bits) HIPBLAS_##name
#endif
using gpuDeviceProperties = hipDeviceProp_t;
inline std::string_view gpuUuid(const gpuDeviceProperties&) { return {}; }
#if HIP_VERSION >= 50300000
#define gpuLaunchHostFunc hipLaunchHostFunc
#else
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
#endif
#endif

#endif

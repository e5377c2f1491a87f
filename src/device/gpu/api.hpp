// The one file in which the words CUDA and HIP choose anything. The rest of the GPU backend, and the ccl transport, are
// written against the names here; they differ in the two worlds only by their prefix.
//
// COMMLENS_CUDA or COMMLENS_HIP is defined by the build, for files of a GPU build only.
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__)
#define COMMLENS_GPU_COMPILER 1
#define COMMLENS_LAMBDA [=] __host__ __device__
#define COMMLENS_FUNCTION __host__ __device__
#else
#define COMMLENS_GPU_COMPILER 0
#define COMMLENS_LAMBDA [=]
#define COMMLENS_FUNCTION
#endif

#include <memory>
#include <string_view>

#if defined(COMMLENS_CUDA)

#include <cuda_runtime.h>
#define COMMLENS_GPU_NAME(name) cuda##name
#define COMMLENS_GPU_BACKEND "cuda"
#if defined(COMMLENS_CCL)
#include <nccl.h>
#define COMMLENS_CCL_NAME "NCCL"
#endif

#elif defined(COMMLENS_HIP)

#include <hip/hip_runtime.h>
#define COMMLENS_GPU_NAME(name) hip##name
#define COMMLENS_GPU_BACKEND "hip"
#if defined(COMMLENS_CCL)
#include <rccl/rccl.h>
#define COMMLENS_CCL_NAME "RCCL"
#endif

#endif

#if defined(COMMLENS_GPU_NAME)

// Types
#define gpuError_t COMMLENS_GPU_NAME(Error_t)
#define gpuStream_t COMMLENS_GPU_NAME(Stream_t)
#define gpuEvent_t COMMLENS_GPU_NAME(Event_t)

// Values
#define gpuSuccess COMMLENS_GPU_NAME(Success)
#define gpuErrorPeerAccessAlreadyEnabled COMMLENS_GPU_NAME(ErrorPeerAccessAlreadyEnabled)
#define gpuMemcpyDefault COMMLENS_GPU_NAME(MemcpyDefault)
#define gpuStreamNonBlocking COMMLENS_GPU_NAME(StreamNonBlocking)
#define gpuMemAttachGlobal COMMLENS_GPU_NAME(MemAttachGlobal)

// Functions
#define gpuGetErrorString COMMLENS_GPU_NAME(GetErrorString)
#define gpuGetLastError COMMLENS_GPU_NAME(GetLastError)
#define gpuGetDevice COMMLENS_GPU_NAME(GetDevice)
#define gpuSetDevice COMMLENS_GPU_NAME(SetDevice)
#define gpuGetDeviceCount COMMLENS_GPU_NAME(GetDeviceCount)
#define gpuDeviceGetPCIBusId COMMLENS_GPU_NAME(DeviceGetPCIBusId)
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
#define gpuStreamCreateWithFlags COMMLENS_GPU_NAME(StreamCreateWithFlags)
#define gpuStreamDestroy COMMLENS_GPU_NAME(StreamDestroy)
#define gpuStreamSynchronize COMMLENS_GPU_NAME(StreamSynchronize)
#define gpuStreamWaitEvent COMMLENS_GPU_NAME(StreamWaitEvent)
#define gpuEventCreate COMMLENS_GPU_NAME(EventCreate)
#define gpuEventDestroy COMMLENS_GPU_NAME(EventDestroy)
#define gpuEventRecord COMMLENS_GPU_NAME(EventRecord)
#define gpuEventSynchronize COMMLENS_GPU_NAME(EventSynchronize)
#define gpuEventElapsedTime COMMLENS_GPU_NAME(EventElapsedTime)

// Where the two worlds differ in more than a prefix.
#if defined(COMMLENS_CUDA)
#define gpuHostAlloc cudaMallocHost
#define gpuHostFree cudaFreeHost
#define gpuLaunchHostFunc cudaLaunchHostFunc
#define gpuGetDeviceProperties cudaGetDeviceProperties
using gpuDeviceProperties = cudaDeviceProp;
/// The bytes of the GPU's uuid; none where the runtime does not know it (HIP before 5.6).
inline std::string_view gpuUuid(const gpuDeviceProperties& properties) {
  return {properties.uuid.bytes, sizeof properties.uuid.bytes};
}
#else
#define gpuHostAlloc hipHostMalloc
#define gpuHostFree hipHostFree
#define gpuGetDeviceProperties hipGetDeviceProperties
using gpuDeviceProperties = hipDeviceProp_t;
inline std::string_view gpuUuid(const gpuDeviceProperties&) { return {}; }
#if HIP_VERSION >= 50300000
#define gpuLaunchHostFunc hipLaunchHostFunc
#else
/// HIP 5.2 declares hipLaunchHostFunc, but its library lacks it; hipStreamAddCallback does the same.
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

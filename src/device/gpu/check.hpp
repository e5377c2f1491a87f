// Turns a failing call of the GPU's runtime into an Error with the call, the device and the runtime's message.
#pragma once

#include <string>

#include "base/error.hpp"
#include "device/gpu/api.hpp"

namespace commlens::device::gpu {

[[noreturn]] inline void fail(const char* call, const std::string& reason) {
  (void)gpuGetLastError();  // otherwise the next check reports it again
  int device = -1;
  (void)gpuGetDevice(&device);
  throw Error(std::string(call) + " on GPU " + std::to_string(device) + ": " + reason);
}

inline void check(gpuError_t status, const char* call) {
  if (status != gpuSuccess) fail(call, gpuGetErrorString(status));
}

}  // namespace commlens::device::gpu

#define COMMLENS_GPU_TEXT_(text) #text
#define COMMLENS_GPU_TEXT(text) COMMLENS_GPU_TEXT_(text)
/// GPU_CALL(gpuMalloc, &pointer, bytes), or an Error: "cudaMalloc on GPU 0: out of memory".
#define GPU_CALL(function, ...) ::commlens::device::gpu::check(function(__VA_ARGS__), COMMLENS_GPU_TEXT(function))

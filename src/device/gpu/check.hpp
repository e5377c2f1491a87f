// Turns a failing call of the GPU's runtime into an Error with the call, the device and the runtime's message.
#pragma once

#include <string>

#include "base/error.hpp"
#include "device/gpu/api.hpp"

namespace commlens::device::gpu {

[[noreturn]] inline void fail(const char* call, const std::string& reason) {
  (void)gpuGetLastError();  // otherwise the next check reports it again
  int device = -1;
  (void)GPU_NAME(GetDevice)(&device);
  throw Error(std::string(call) + " on GPU " + std::to_string(device) + ": " + reason);
}

inline void check(GPU_NAME(Error_t) status, const char* call) {
  if (status != GPU_NAME(Success)) fail(call, GPU_NAME(GetErrorString)(status));
}

}  // namespace commlens::device::gpu

#define COMMLENS_GPU_TEXT_(text) #text
#define COMMLENS_GPU_TEXT(text) COMMLENS_GPU_TEXT_(text)
/// GPU_CALL(Malloc, &pointer, bytes), or an Error: "cudaMalloc on GPU 0: out of memory".
#define GPU_CALL(function, ...) \
  ::commlens::device::gpu::check(GPU_NAME(function)(__VA_ARGS__), COMMLENS_GPU_TEXT(GPU_NAME(function)))

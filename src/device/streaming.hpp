// Accesses of kernels to data that no kernel soon accesses again: a GPU's cache keeps other data in its place.
#pragma once

#include "device/function.hpp"

#if COMMLENS_GPU_COMPILER
#include "device/gpu/api.hpp"
#endif

namespace commlens::device {

template <class T>
COMMLENS_FUNCTION inline T load_streaming(const T* from) {
#if defined(COMMLENS_GPU_CODE)
  return gpuLoadStreaming(from);
#else
  return *from;
#endif
}

template <class T>
COMMLENS_FUNCTION inline void store_streaming(T* to, T value) {
#if defined(COMMLENS_GPU_CODE)
  gpuStoreStreaming(to, value);
#else
  *to = value;
#endif
}

}  // namespace commlens::device

// One lambda, run for every index on the host or on the GPU, whichever the stream belongs to.
//
//   launch(stream, n, COMMLENS_LAMBDA(std::size_t i) { data[i] = value; });
//
// The lambda captures by value (pointers, numbers). In a GPU build a file that includes this is compiled by nvcc or
// hipcc.
#pragma once

#include <atomic>
#include <cstddef>

#include "device/device.hpp"
#include "device/gpu/api.hpp"

#if COMMLENS_GPU_COMPILER
#include "device/gpu/launch.hpp"
#endif

namespace commlens::device {

/// Adds `function(i)` for i = 0 … n-1, in any order, to the stream.
template <class Function>
void launch(Stream& stream, std::size_t n, Function function) {
  if (n == 0) return;
#if COMMLENS_GPU_COMPILER
  if (void* native = stream.native()) return gpu::launch(native, n, function);
#endif
  stream.enqueue([n, function] {
    for (std::size_t i = 0; i < n; ++i) function(i);
  });
}

/// The smallest i < n for which `predicate(i)` is true, n if there is none. Waits for the stream.
template <class Predicate>
std::size_t find_first(Stream& stream, std::size_t n, Predicate predicate) {
#if COMMLENS_GPU_COMPILER
  if (void* native = stream.native()) {
    const std::size_t found = gpu::find_first(native, n, predicate);
    stream.wait();
    return found;
  }
#endif
  stream.wait();
  for (std::size_t i = 0; i < n; ++i) {
    if (predicate(i)) return i;
  }
  return n;
}

}  // namespace commlens::device

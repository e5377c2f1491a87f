// Runs a lambda for every index, on the GPU or on the host, depending on the stream.
//
//   launch(stream, n, COMMLENS_LAMBDA(std::size_t i) { data[i] = value; });
//
// Or for every index of a box, for transposes, in which two axes are exchanged between input and output:
//
//   launch(stream, {n, rows, columns}, COMMLENS_LAMBDA(std::size_t i, std::size_t j, std::size_t k) {
//     to[i][k][j] = from[i][j][k];
//   });
//
// The lambda captures by value (pointers, numbers). In a GPU build a file that includes this is compiled by nvcc or
// hipcc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "device/device.hpp"
#include "device/function.hpp"

#if COMMLENS_GPU_COMPILER
#include "device/gpu/launch.hpp"
#endif

namespace commlens::device {

/// A function object may have prepare(), for what is the same for all indices. On a GPU each thread calls it once, on
/// its own copy, before its first index.
template <class Function>
void prepare_on_host(Function& function) {
  if constexpr (requires { function.prepare(); }) function.prepare();
}

/// Adds `function(i)` for i = 0 … n-1, in any order, to the stream.
template <class Function>
void launch(Stream& stream, std::size_t n, Function function, Traversal traversal = Traversal::forward) {
  if (n == 0) return;
#if COMMLENS_GPU_COMPILER
  if (stream.on_gpu()) return gpu::launch(stream.native(), n, function, traversal);
#endif
  (void)traversal;
  stream.enqueue([n, function]() mutable {
    prepare_on_host(function);
    for (std::size_t i = 0; i < n; ++i) function(i);
  });
}

/// Indices (i, j, k) with i < box[0], j < box[1], k < box[2].
using Box = std::array<std::size_t, 3>;

/// Adds `function(i, j, k)` for all indices of the box, in any order, to the stream. It is tiled in j and k: where one
/// array is contiguous in j and the other one in k, elements of 16 bytes are accessed in whole memory sectors of a GPU,
/// and in whole cache lines on the host.
template <class Function>
void launch(Stream& stream, const Box& box, Function function) {
  if (box[0] * box[1] * box[2] == 0) return;
#if COMMLENS_GPU_COMPILER
  if (stream.on_gpu()) return gpu::launch(stream.native(), box, function);
#endif
  stream.enqueue([box, function] {
    constexpr std::size_t tile = 8;
    for (std::size_t i = 0; i < box[0]; ++i) {
      for (std::size_t j0 = 0; j0 < box[1]; j0 += tile) {
        for (std::size_t k0 = 0; k0 < box[2]; k0 += tile) {
          const std::size_t j1 = std::min(j0 + tile, box[1]);
          const std::size_t k1 = std::min(k0 + tile, box[2]);
          for (std::size_t k = k0; k < k1; ++k) {
            for (std::size_t j = j0; j < j1; ++j) function(i, j, k);
          }
        }
      }
    }
  });
}

/// Size of the scratch memory of launch_sum(), which the caller provides in the stream's memory, for one sum at a time.
/// It must be filled with zeros before the first sum.
inline constexpr std::size_t sum_scratch_bytes = std::size_t{64} * 1024;

/// On the host: the sum of `function(i)` for i = 0 … n-1.
template <class Function>
double sum_on_host(std::size_t n, Function& function) {
  prepare_on_host(function);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += function(i);
  return sum;
}

/// Adds to the stream: *result = sum of the doubles `function(i)` for i = 0 … n-1; the function may have side effects.
/// The sum is bitwise reproducible. `result` is in the stream's memory.
template <class Function>
void launch_sum(Stream& stream, std::size_t n, void* scratch, double* result, Function function) {
#if COMMLENS_GPU_COMPILER
  if (stream.on_gpu()) return gpu::launch_sum(stream.native(), n, scratch, result, function);
#endif
  (void)scratch;
  stream.enqueue([n, result, function]() mutable { *result = sum_on_host(n, function); });
}

/// Adds to the stream: *result += sum of the doubles `function(i)` for i = 0 … n-1; the function may have side effects.
/// It needs no scratch memory. On a GPU each block adds its part to the result, in any order, so that two sums of the
/// same numbers differ by their rounding. `result` is in the stream's memory.
template <class Function>
void launch_unordered_sum(Stream& stream, std::size_t n, double* result, Function function,
                          Traversal traversal = Traversal::forward) {
#if COMMLENS_GPU_COMPILER
  if (stream.on_gpu()) return gpu::launch_unordered_sum(stream.native(), n, result, function, traversal);
#endif
  (void)traversal;
  stream.enqueue([n, result, function]() mutable { *result += sum_on_host(n, function); });
}

/// Adds to the stream: result[0 … Count - 1] = the sums of what `function(i, sums)` adds to sums[0 … Count - 1]. As
/// launch_sum() otherwise.
template <int Count, class Function>
void launch_sums(Stream& stream, std::size_t n, void* scratch, double* result, Function function) {
#if COMMLENS_GPU_COMPILER
  if (stream.on_gpu()) return gpu::launch_sums<Count>(stream.native(), n, scratch, result, function);
#endif
  (void)scratch;
  stream.enqueue([n, result, function] {
    double sums[Count] = {};
    for (std::size_t i = 0; i < n; ++i) function(i, sums);
    for (int s = 0; s < Count; ++s) result[s] = sums[s];
  });
}

/// The smallest i < n for which `predicate(i)` is true, n if there is none. Waits for the stream.
template <class Predicate>
std::size_t find_first(Stream& stream, std::size_t n, Predicate predicate) {
#if COMMLENS_GPU_COMPILER
  if (stream.on_gpu()) {
    const std::size_t first = gpu::find_first(stream.native(), n, predicate);
    stream.wait();
    return first;
  }
#endif
  stream.wait();
  for (std::size_t i = 0; i < n; ++i) {
    if (predicate(i)) return i;
  }
  return n;
}

}  // namespace commlens::device

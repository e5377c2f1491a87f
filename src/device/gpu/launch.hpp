// The kernels behind device/launch.hpp: grid-stride loops, so that any n runs on any GPU.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "device/gpu/check.hpp"

namespace commlens::device::gpu {

inline constexpr unsigned threads_a_block = 256;

inline unsigned blocks_for(std::size_t n) {
  constexpr std::size_t most = 1U << 16;  // far more than a GPU runs at once
  const std::size_t wanted = (n + threads_a_block - 1) / threads_a_block;
  return static_cast<unsigned>(wanted < most ? wanted : most);
}

template <class Function>
__global__ void for_each_index(std::size_t n, Function function) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) function(i);
}

/// A warp does 4 x 8 neighbours in j and k, a block 16 x 16.
template <class Function>
__global__ void for_each_place(std::array<std::size_t, 3> box, Function function) {
  const std::size_t k = blockIdx.x * std::size_t{16} + threadIdx.z % 2 * 8 + threadIdx.x;
  if (k >= box[2]) return;
  const std::size_t first = blockIdx.y * std::size_t{16} + threadIdx.z / 2 * 4 + threadIdx.y;
  for (std::size_t i = blockIdx.z; i < box[0]; i += gridDim.z) {
    for (std::size_t j = first; j < box[1]; j += gridDim.y * std::size_t{16}) function(i, j, k);
  }
}

template <class Function>
void launch(void* stream, const std::array<std::size_t, 3>& box, Function function) {
  constexpr std::size_t most = 65535;  // of a grid's y and z
  const auto tiles = [](std::size_t n) { return static_cast<unsigned>((n + 15) / 16); };
  const dim3 grid(tiles(box[2]), std::min<unsigned>(tiles(box[1]), most),
                  static_cast<unsigned>(std::min(box[0], most)));
  for_each_place<<<grid, dim3(8, 4, 8), 0, static_cast<gpuStream_t>(stream)>>>(box, function);
  check(gpuGetLastError(), "kernel launch");
}

template <class Function>
void launch(void* stream, std::size_t n, Function function) {
  for_each_index<<<blocks_for(n), threads_a_block, 0, static_cast<gpuStream_t>(stream)>>>(n, function);
  check(gpuGetLastError(), "kernel launch");
}

/// A device word that a kernel reduces into and the host reads back.
class Scalar {
 public:
  explicit Scalar(unsigned long long value, gpuStream_t stream) : stream_(stream) {
    GPU_CALL(gpuMalloc, reinterpret_cast<void**>(&data_), sizeof value);
    GPU_CALL(gpuMemcpyAsync, data_, &value, sizeof value, gpuMemcpyDefault, stream_);
    GPU_CALL(gpuStreamSynchronize, stream_);
  }
  Scalar(const Scalar&) = delete;
  Scalar& operator=(const Scalar&) = delete;
  ~Scalar() { (void)gpuFree(data_); }

  unsigned long long* data() { return data_; }

  unsigned long long read() {
    unsigned long long value = 0;
    GPU_CALL(gpuMemcpyAsync, &value, data_, sizeof value, gpuMemcpyDefault, stream_);
    GPU_CALL(gpuStreamSynchronize, stream_);
    return value;
  }

 private:
  gpuStream_t stream_;
  unsigned long long* data_ = nullptr;
};

template <class Predicate>
std::size_t find_first(void* stream, std::size_t n, Predicate predicate) {
  Scalar smallest(n, static_cast<gpuStream_t>(stream));
  unsigned long long* found = smallest.data();
  if (n > 0) {
    launch(stream, n, [=] __device__(std::size_t i) {
      if (predicate(i)) atomicMin(found, static_cast<unsigned long long>(i));
    });
  }
  return smallest.read();
}

}  // namespace commlens::device::gpu

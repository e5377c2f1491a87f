// The kernels of device/launch.hpp: grid-stride loops, for any n on any GPU.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "device/device.hpp"
#include "device/gpu/check.hpp"
#include "device/gpu/dependent_launch.hpp"

namespace commlens::device::gpu {

inline constexpr unsigned threads_per_block = 256;

inline unsigned blocks_for(std::size_t n) {
  constexpr std::size_t most = 1U << 16;  // far more than are resident on a GPU
  const std::size_t wanted = (n + threads_per_block - 1) / threads_per_block;
  return static_cast<unsigned>(wanted < most ? wanted : most);
}

template <class Function>
__device__ inline void prepare(Function& function) {
  if constexpr (requires { function.prepare(); }) function.prepare();
}

/// Calls visit(i) for this thread's indices i < n. Backward, whole warps of indices change places, so that each
/// accesses aligned memory as it does forward.
template <class Visit>
__device__ inline void for_each_index_of_thread(std::size_t n, Traversal traversal, Visit visit) {
  constexpr std::size_t warp = 32;
  const std::size_t last = (n + warp - 1) / warp * warp - warp;  // first index of the last warp
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; at < last + warp;
       at += stride) {
    const std::size_t i = traversal == Traversal::forward ? at : last - at / warp * warp + at % warp;
    if (i < n) visit(i);
  }
}

template <class Function>
__global__ void for_each_index(std::size_t n, Function function, Traversal traversal) {
  wait_for_previous_kernel();
  prepare(function);
  for_each_index_of_thread(n, traversal, [&](std::size_t i) { function(i); });
}

/// A warp computes a tile of 4 x 8 in j and k, a block one of 16 x 16.
template <class Function>
__global__ void for_each_box_index(std::size_t is, std::size_t js, std::size_t ks, Function function) {
  wait_for_previous_kernel();
  const std::size_t k = blockIdx.x * std::size_t{16} + threadIdx.z % 2 * 8 + threadIdx.x;
  if (k >= ks) return;
  const std::size_t first = blockIdx.y * std::size_t{16} + threadIdx.z / 2 * 4 + threadIdx.y;
  for (std::size_t i = blockIdx.z; i < is; i += gridDim.z) {
    for (std::size_t j = first; j < js; j += gridDim.y * std::size_t{16}) function(i, j, k);
  }
}

template <class Function>
void launch(void* stream, const std::array<std::size_t, 3>& box, Function function) {
  constexpr std::size_t most = 65535;  // blocks of a grid in y and in z
  const auto tiles = [](std::size_t n) { return static_cast<unsigned>((n + 15) / 16); };
  const dim3 grid(tiles(box[2]), std::min<unsigned>(tiles(box[1]), most),
                  static_cast<unsigned>(std::min(box[0], most)));
  launch_dependent<for_each_box_index<Function>>(grid, dim3(8, 4, 8), 0, stream, box[0], box[1], box[2], function);
}

template <class Function>
void launch(void* stream, std::size_t n, Function function, Traversal traversal = Traversal::forward) {
  launch_dependent<for_each_index<Function>>(blocks_for(n), threads_per_block, 0, stream, n, function, traversal);
}

/// A word of device memory that a kernel updates and the host reads.
class Scalar {
 public:
  explicit Scalar(unsigned long long value, gpuStream_t stream) : stream_(stream) {
    GPU_CALL(Malloc, reinterpret_cast<void**>(&data_), sizeof value);
    GPU_CALL(MemcpyAsync, data_, &value, sizeof value, GPU_NAME(MemcpyDefault), stream_);
    GPU_CALL(StreamSynchronize, stream_);
  }
  Scalar(Scalar&&) = delete;
  ~Scalar() { (void)GPU_NAME(Free)(data_); }

  unsigned long long* data() { return data_; }

  unsigned long long read() {
    unsigned long long value = 0;
    GPU_CALL(MemcpyAsync, &value, data_, sizeof value, GPU_NAME(MemcpyDefault), stream_);
    GPU_CALL(StreamSynchronize, stream_);
    return value;
  }

 private:
  gpuStream_t stream_;
  unsigned long long* data_ = nullptr;
};

/// Scratch memory of add_up(), which is zero at first.
struct SumScratch {
  static constexpr unsigned most_blocks = 8184;

  unsigned arrived = 0;
  double of_block[most_blocks] = {};
};
static_assert(sizeof(SumScratch) <= 64 * 1024);

/// The sums of `mine` over a block: the n-th one in its thread n. All threads of the block call it; they are whole
/// warps, and Count at least.
template <int Count>
__device__ inline double add_up_in_block(const double (&mine)[Count]) {
  constexpr unsigned warp = 32;  // a wavefront of 64 counts as two
  __shared__ double of_warp[Count][warp];
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned warps = (blockDim.x * blockDim.y * blockDim.z + warp - 1) / warp;
#pragma unroll
  for (int n = 0; n < Count; ++n) {
    double sum = mine[n];
    for (unsigned distance = warp / 2; distance > 0; distance /= 2) sum += gpuShuffleDown(sum, distance, warp);
    if (thread % warp == 0) of_warp[n][thread / warp] = sum;
  }
  __syncthreads();
  double sum = 0;
  if (thread < Count) {
    for (unsigned i = 0; i < warps; ++i) sum += of_warp[thread][i];
  }
  __syncthreads();  // of_warp may be overwritten
  return sum;
}

/// What one of the threads adds up of the sums of all blocks, in a fixed order. Several are read before any is added,
/// as nothing else hides the latency: the other blocks have ended.
__device__ inline double part_of_sum(const double* of_block, unsigned thread, unsigned threads) {
  constexpr unsigned batch = 8;
  double sum = 0;
  for (unsigned first = thread; first < gridDim.x; first += batch * threads) {
    double values[batch];
#pragma unroll
    for (unsigned i = 0; i < batch; ++i) {
      const unsigned block = first + i * threads;
      values[i] = block < gridDim.x ? of_block[block] : 0;
    }
#pragma unroll
    for (unsigned i = 0; i < batch; ++i) sum += values[i];
  }
  return sum;
}

/// The sums of `mine` over all threads of all blocks, of which there are at most SumScratch::most_blocks / Count. The
/// last block to arrive adds up the sums of all blocks, in a fixed order, and writes them to `result`.
template <int Count>
__device__ inline void add_up(const double (&mine)[Count], SumScratch* scratch, double* result) {
  __shared__ bool last;
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  const double of_block = add_up_in_block(mine);
  if (thread < Count) {
    scratch->of_block[thread * gridDim.x + blockIdx.x] = of_block;
    __threadfence();
  }
  __syncthreads();
  if (thread == 0) last = atomicInc(&scratch->arrived, gridDim.x - 1) == gridDim.x - 1;  // wraps around to 0
  __syncthreads();
  if (!last) return;
  __threadfence();
  double parts[Count];
#pragma unroll
  for (int n = 0; n < Count; ++n) parts[n] = part_of_sum(scratch->of_block + n * gridDim.x, thread, threads);
  const double sum = add_up_in_block(parts);
  if (thread < Count) result[thread] = sum;
}

/// Adds `mine` of all threads of all blocks to *result, in any order. Blocks have one dimension.
__device__ inline void add_up_unordered(double mine, double* result) {
  const double values[1] = {mine};
  const double of_block = add_up_in_block(values);
  if (threadIdx.x == 0) gpuAtomicAddManaged(result, of_block);
}

/// What this thread adds to the sum of a kernel that begins with it.
template <class Function>
__device__ inline double sum_of_thread(std::size_t n, Function& function, Traversal traversal) {
  wait_for_previous_kernel();
  prepare(function);
  double sum = 0;
  for_each_index_of_thread(n, traversal, [&](std::size_t i) { sum += function(i); });
  return sum;
}

template <class Function>
__global__ void sum_of_indexes(std::size_t n, SumScratch* scratch, double* result, Function function) {
  const double sums[1] = {sum_of_thread(n, function, Traversal::forward)};
  add_up(sums, scratch, result);
}

template <class Function>
__global__ void unordered_sum_of_indexes(std::size_t n, double* result, Function function, Traversal traversal) {
  add_up_unordered(sum_of_thread(n, function, traversal), result);
}

/// At most as many as are resident on the GPU at the same time, and few enough for the last one to add up, or for their
/// atomic additions.
template <auto kernel>
unsigned blocks_of_sum(std::size_t n, unsigned sums) {
  static const unsigned resident = resident_blocks(kernel, threads_per_block, 0);
  return std::clamp(blocks_for(n), 1U, std::min({resident, SumScratch::most_blocks / sums, 1056U}));
}

template <class Function>
void launch_sum(void* stream, std::size_t n, void* scratch, double* result, Function function) {
  const unsigned blocks = blocks_of_sum<sum_of_indexes<Function>>(n, 1);
  launch_dependent<sum_of_indexes<Function>>(blocks, threads_per_block, 0, stream, n, static_cast<SumScratch*>(scratch),
                                             result, function);
}

template <class Function>
void launch_unordered_sum(void* stream, std::size_t n, double* result, Function function, Traversal traversal) {
  const unsigned blocks = blocks_of_sum<unordered_sum_of_indexes<Function>>(n, 1);
  launch_dependent<unordered_sum_of_indexes<Function>>(blocks, threads_per_block, 0, stream, n, result, function,
                                                       traversal);
}

template <int Count, class Function>
__global__ void sums_of_indexes(std::size_t n, SumScratch* scratch, double* result, Function function) {
  wait_for_previous_kernel();
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  double sums[Count] = {};
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    function(i, sums);
  }
  add_up(sums, scratch, result);
}

template <int Count, class Function>
void launch_sums(void* stream, std::size_t n, void* scratch, double* result, Function function) {
  const unsigned blocks = blocks_of_sum<sums_of_indexes<Count, Function>>(n, Count);
  launch_dependent<sums_of_indexes<Count, Function>>(blocks, threads_per_block, 0, stream, n,
                                                     static_cast<SumScratch*>(scratch), result, function);
}

template <class Predicate>
std::size_t find_first(void* stream, std::size_t n, Predicate predicate) {
  Scalar smallest(n, static_cast<gpuStream_t>(stream));
  unsigned long long* first = smallest.data();
  if (n > 0) {
    launch(stream, n, [=] __device__(std::size_t i) {
      if (predicate(i)) atomicMin(first, static_cast<unsigned long long>(i));
    });
  }
  return smallest.read();
}

}  // namespace commlens::device::gpu

// Interpolation on a GPU: a block has one element in shared memory, and multiplies in one direction after the other.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "device/gpu/launch.hpp"
#include "sem/numbering.hpp"
#include "sem/poisson_kernel.hpp"
#include "solvers/kernels.hpp"

namespace commlens::solvers {

namespace {

using device::gpu::check;
using sem::Numbering;

/// output[outer][x][inner] = sum over m of matrix[x][m] input[outer][m][inner], with To values of x.
template <int To, int Inner>
__device__ inline void multiply(const float* matrix, int from, int outer, const float* input, float* output) {
  for (int at = static_cast<int>(threadIdx.x); at < outer * To * Inner; at += static_cast<int>(blockDim.x)) {
    const int i = at % Inner;
    const int x = at / Inner % To;
    const int o = at / (Inner * To);
    float sum = 0;
    for (int m = 0; m < from; ++m) sum += matrix[x * from + m] * input[(o * from + m) * Inner + i];
    output[at] = sum;
  }
}

template <int To>
__global__ void interpolate_kernel(const InterpolationCall call) {
  extern __shared__ float shared[];
  const int from = call.from;
  const int most = from > To ? from : To;
  float* const matrix = shared;
  float* const a = matrix + from * To;
  float* const b = a + most * most * most;
  const int inputs = from * from * from;
  constexpr int outputs = To * To * To;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int at = thread; at < from * To; at += threads) matrix[at] = call.matrix[at];
  for (std::size_t element = call.elements.first + blockIdx.x; element < call.elements.last; element += gridDim.x) {
    for (int node = thread; node < inputs; node += threads) {
      const std::uint32_t unknown = call.input_unknowns[element * inputs + node];
      const std::uint32_t place = unknown & ~Numbering::by_several;
      float value = unknown == Numbering::fixed ? 0.0F : call.input[place];
      if (call.input_weights != nullptr && unknown != Numbering::fixed) value *= call.input_weights[place];
      a[node] = value;
    }
    __syncthreads();
    multiply<To, 1>(matrix, from, from * from, a, b);
    __syncthreads();
    multiply<To, To>(matrix, from, from, b, a);
    __syncthreads();
    multiply<To, To * To>(matrix, from, 1, a, b);
    __syncthreads();
    for (int node = thread; node < outputs; node += threads) {
      const std::uint32_t unknown = call.output_unknowns[element * outputs + node];
      if (unknown == Numbering::fixed) continue;
      const std::uint32_t place = unknown & ~Numbering::by_several;
      if (unknown < Numbering::by_several) {
        call.output[place] += b[node];
      } else {
        gpuAtomicAdd(call.output + place, b[node]);
      }
    }
  }
}

}  // namespace

void interpolate_on_gpu(const InterpolationCall& call, device::Stream& stream) {
  const std::size_t count = call.elements.last - call.elements.first;
  if (count == 0) return;
  const int most = std::max(call.from, call.to);
  const std::size_t shared_bytes =
      sizeof(float) * static_cast<std::size_t>(call.from * call.to + 2 * most * most * most);
  constexpr std::size_t most_blocks = 1U << 16;
  const auto blocks = static_cast<unsigned>(std::min(count, most_blocks));
  constexpr unsigned threads = 128;
  sem::with_nodes(call.to, [&](auto to) {
    interpolate_kernel<decltype(to)::value>
        <<<blocks, threads, shared_bytes, static_cast<gpuStream_t>(stream.native())>>>(call);
  });
  check(gpuGetLastError(), "kernel launch");
}

}  // namespace commlens::solvers

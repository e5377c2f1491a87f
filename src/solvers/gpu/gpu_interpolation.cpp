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

using sem::Numbering;

constexpr int threads = 128;

/// output[outer][x][inner] = sum over m of matrix[x][m] input[outer][m][inner], with To values of x.
template <int To, int Inner>
__device__ inline void multiply(const float* matrix, int from, int outer, const float* input, float* output) {
  for (int at = static_cast<int>(threadIdx.x); at < outer * To * Inner; at += threads) {
    const int i = at % Inner;
    const int x = at / Inner % To;
    const int o = at / (Inner * To);
    float sum = 0;
    for (int m = 0; m < from; ++m) sum += matrix[x * from + m] * input[(o * from + m) * Inner + i];
    output[at] = sum;
  }
}

/// Nodes that a thread reads at once: one after the other they would cost two latencies of memory each.
constexpr int batch = 4;

/// Calls visit(node, unknown) for this thread's nodes, after it has read the unknowns of a batch of them.
template <class Visit>
__device__ inline void for_each_node(const std::uint32_t* unknowns, int nodes, Visit visit) {
  for (int first = static_cast<int>(threadIdx.x); first < nodes; first += batch * threads) {
    std::uint32_t unknown[batch];
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      const int node = first + b * threads;
      unknown[b] = node < nodes ? unknowns[node] : Numbering::fixed;
    }
    visit(first, unknown);
  }
}

__device__ inline void read_element(const InterpolationCall& call, std::size_t element, float* values) {
  const int nodes = call.from * call.from * call.from;
  for_each_node(call.input_unknowns + element * nodes, nodes, [&](int first, const std::uint32_t(&unknown)[batch]) {
    float value[batch];
    float weight[batch];
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      const bool fixed = unknown[b] == Numbering::fixed;
      const std::uint32_t place = unknown[b] & ~Numbering::by_several;
      value[b] = fixed ? 0.0F : call.input[place];
      weight[b] = fixed || call.input_weights == nullptr ? 1.0F : call.input_weights[place];
    }
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      if (first + b * threads < nodes) values[first + b * threads] = weight[b] * value[b];
    }
  });
}

__device__ inline void write_element(const InterpolationCall& call, std::size_t element, const float* values) {
  const int nodes = call.to * call.to * call.to;
  for_each_node(call.output_unknowns + element * nodes, nodes, [&](int first, const std::uint32_t(&unknown)[batch]) {
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      if (unknown[b] == Numbering::fixed) continue;
      const float value = values[first + b * threads];
      if (unknown[b] < Numbering::by_several) {
        call.output[unknown[b]] = value;
      } else {
        gpuAtomicAdd(call.output + (unknown[b] & ~Numbering::by_several), value);
      }
    }
  });
}

template <int To>
__global__ void interpolate_kernel(const InterpolationCall call) {
  extern __shared__ float shared[];
  const int from = call.from;
  const int most = from > To ? from : To;
  float* const matrix = shared;
  float* const a = matrix + from * To;
  float* const b = a + most * most * most;
  for (int at = static_cast<int>(threadIdx.x); at < from * To; at += threads) matrix[at] = call.matrix[at];
  device::gpu::wait_for_previous_kernel();
  for (std::size_t element = call.elements.first + blockIdx.x; element < call.elements.last; element += gridDim.x) {
    read_element(call, element, a);
    __syncthreads();
    multiply<To, 1>(matrix, from, from * from, a, b);
    __syncthreads();
    multiply<To, To>(matrix, from, from, b, a);
    __syncthreads();
    multiply<To, To * To>(matrix, from, 1, a, b);
    __syncthreads();
    write_element(call, element, b);
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
  sem::with_nodes(call.to, [&](auto to) {
    device::gpu::launch_dependent<interpolate_kernel<decltype(to)::value>>(blocks, threads, shared_bytes,
                                                                           stream.native(), call);
  });
}

}  // namespace commlens::solvers

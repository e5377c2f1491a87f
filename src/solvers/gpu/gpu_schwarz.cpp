// The Schwarz smoother on a GPU. A block solves one extended element at a time (or several small ones), a thread one
// line of it in each direction.
//
// The line along t is in registers when the element is read and when it is written; between, shared memory holds the
// element, and each thread reads a line and writes its product with a matrix in the same place. All threads of a warp
// read the same element of a matrix, four at a time. In the direction of s the division by the eigenvalues comes
// between the two products, in registers.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "device/gpu/launch.hpp"
#include "device/gpu/occupancy.hpp"
#include "sem/numbering.hpp"
#include "solvers/kernels.hpp"

namespace commlens::solvers {

namespace {

using device::gpu::check;
using sem::Numbering;

/// Of an extended element with N nodes in each direction.
template <int N>
struct Layout {
  static constexpr int interior = N - 2;  ///< nodes of the element itself
  static constexpr int columns = N * N;
  static constexpr int row = N % 2 == 1 ? N : N + 1;  ///< odd: lines in different banks
  static constexpr int plane = row * N;
  static constexpr int field = (plane * N + 3) / 4 * 4;
  static constexpr int matrix_row = static_cast<int>(EigenLayout::row(N));
  static constexpr int matrix = static_cast<int>(EigenLayout::matrix(N));
  static constexpr int eigen = static_cast<int>(EigenLayout::element(N));
  static constexpr int elements = columns < 64 ? 128 / columns : 1;
  static constexpr int threads = (elements * columns + 31) / 32 * 32;
  /// Blocks per multiprocessor that its registers must suffice for: more would spill them.
  static constexpr int at_once = N <= 10 ? 3 : 0;
  static constexpr std::size_t shared_bytes = sizeof(float) * (field + eigen) * elements;
};

/// product[x] = sum over m of matrix[m][x] line[m]: from nodes to eigenvectors.
template <int N>
__device__ inline void to_eigenvectors(const float* matrix, const float (&line)[N], float (&product)[N]) {
  constexpr int row = Layout<N>::matrix_row;
  float sums[row] = {};
#pragma unroll
  for (int m = 0; m < N; ++m) {
#pragma unroll
    for (int x = 0; x < row; x += 4) {
      const float4 four = *reinterpret_cast<const float4*>(matrix + m * row + x);
      sums[x] += four.x * line[m];
      sums[x + 1] += four.y * line[m];
      sums[x + 2] += four.z * line[m];
      sums[x + 3] += four.w * line[m];
    }
  }
#pragma unroll
  for (int x = 0; x < N; ++x) product[x] = sums[x];
}

/// product[m] = sum over x of matrix[m][x] line[x]: back.
template <int N>
__device__ inline void to_nodes(const float* matrix, const float (&line)[N], float (&product)[N]) {
  constexpr int row = Layout<N>::matrix_row;
#pragma unroll
  for (int m = 0; m < N; ++m) {
    float sum = 0;
#pragma unroll
    for (int x = 0; x < row; x += 4) {
      const float4 four = *reinterpret_cast<const float4*>(matrix + m * row + x);
      sum += four.x * line[x];
      if (x + 1 < N) sum += four.y * line[x + 1 < N ? x + 1 : 0];
      if (x + 2 < N) sum += four.z * line[x + 2 < N ? x + 2 : 0];
      if (x + 3 < N) sum += four.w * line[x + 3 < N ? x + 3 : 0];
    }
    product[m] = sum;
  }
}

template <int N>
__device__ inline void read_line(const float* from, int stride, float (&line)[N]) {
#pragma unroll
  for (int m = 0; m < N; ++m) line[m] = from[m * stride];
}

template <int N>
__device__ inline void write_line(float* to, int stride, const float (&line)[N]) {
#pragma unroll
  for (int m = 0; m < N; ++m) to[m * stride] = line[m];
}

/// The nodes (i, j, 0 ...) of the extended element: its own, those of neighbors around, and 0 at edges and corners.
/// All places are read before any value is: one after the other they would cost a latency of memory each.
template <int N>
__device__ inline void read_column(const SchwarzCall& call, std::size_t element, int i, int j, float (&column)[N]) {
  constexpr int n = Layout<N>::interior;
  const std::uint32_t* const faces = call.neighbors + element * 6 * n * n;
  const bool inside_i = i > 0 && i < N - 1;
  const bool inside_j = j > 0 && j < N - 1;
  const std::uint32_t* nodes = nullptr;
  int stride = n;
  std::uint32_t place[N];
  place[0] = Numbering::fixed;
  place[N - 1] = Numbering::fixed;
  if (inside_i && inside_j) {
    const int face = (i - 1) + n * (j - 1);
    nodes = call.unknowns + element * n * n * n + face;
    stride = n * n;
    place[0] = faces[4 * n * n + face];
    place[N - 1] = faces[5 * n * n + face];
  } else if (inside_i != inside_j) {
    const int side = inside_j ? (i == 0 ? 0 : 1) : (j == 0 ? 2 : 3);
    nodes = faces + side * n * n + (inside_j ? j - 1 : i - 1);
  }
#pragma unroll
  for (int k = 0; k < n; ++k) place[k + 1] = nodes == nullptr ? Numbering::fixed : nodes[k * stride];
#pragma unroll
  for (int k = 0; k < N; ++k) {
    column[k] = place[k] == Numbering::fixed ? 0.0F : call.input[place[k] & ~Numbering::by_several];
  }
}

/// Adds to the element's own unknowns; those that no other element has are written.
template <int N>
__device__ inline void add_column(const SchwarzCall& call, std::size_t element, int i, int j,
                                  const float (&column)[N]) {
  constexpr int n = Layout<N>::interior;
  if (i == 0 || i == N - 1 || j == 0 || j == N - 1) return;
  const std::uint32_t* const column_unknowns = call.unknowns + element * n * n * n + (i - 1) + n * (j - 1);
  std::uint32_t unknown[n];
  float weight[n];
#pragma unroll
  for (int k = 0; k < n; ++k) unknown[k] = column_unknowns[k * n * n];
#pragma unroll
  for (int k = 0; k < n; ++k) {
    weight[k] = unknown[k] == Numbering::fixed ? 0.0F : call.weights[unknown[k] & ~Numbering::by_several];
  }
#pragma unroll
  for (int k = 0; k < n; ++k) {
    if (unknown[k] < Numbering::by_several) {
      call.output[unknown[k]] = weight[k] * column[k + 1];
    } else if (unknown[k] != Numbering::fixed) {
      gpuAtomicAdd(call.output + (unknown[k] & ~Numbering::by_several), weight[k] * column[k + 1]);
    }
  }
}

template <int N>
__global__ void gpuLaunchBounds(Layout<N>::threads, Layout<N>::at_once) schwarz_kernel(const SchwarzCall call) {
  using Of = Layout<N>;
  extern __shared__ float4 words[];
  const int slot = static_cast<int>(threadIdx.x) / Of::columns;
  const int thread = static_cast<int>(threadIdx.x) % Of::columns;
  const int i = thread % N;
  const int j = thread / N;
  float* const eigen = reinterpret_cast<float*>(words) + slot * (Of::field + Of::eigen);
  float* const field = eigen + Of::eigen;
  const float* const values = eigen + 3 * Of::matrix;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * Of::elements;
  const std::size_t first = call.elements.first + static_cast<std::size_t>(blockIdx.x) * Of::elements;
  for (std::size_t begin = first; begin < call.elements.last; begin += step) {
    const std::size_t element = begin + slot;
    const bool active = slot < Of::elements && element < call.elements.last;
    float line[N];
    float product[N];
    if (active) {
      const auto* const from = reinterpret_cast<const float4*>(call.eigen + element * Of::eigen);
      for (int at = thread; at < Of::eigen / 4; at += Of::columns) reinterpret_cast<float4*>(eigen)[at] = from[at];
      read_column<N>(call, element, i, j, line);
    }
    __syncthreads();
    if (active) {
      to_eigenvectors<N>(eigen + 2 * Of::matrix, line, product);
      write_line<N>(field + i + Of::row * j, Of::plane, product);
    }
    __syncthreads();
    if (active) {  // the line along r at (s, t) = (i, j)
      float* const along = field + Of::row * i + Of::plane * j;
      read_line<N>(along, 1, line);
      to_eigenvectors<N>(eigen, line, product);
      write_line<N>(along, 1, product);
    }
    __syncthreads();
    if (active) {  // along s at (r, t) = (i, j)
      float* const along = field + i + Of::plane * j;
      read_line<N>(along, Of::row, line);
      to_eigenvectors<N>(eigen + Of::matrix, line, product);
      const float sum = values[i] + values[2 * Of::matrix_row + j];
#pragma unroll
      for (int m = 0; m < N; ++m) product[m] = __fdividef(product[m], sum + values[Of::matrix_row + m]);
      to_nodes<N>(eigen + Of::matrix, product, line);
      write_line<N>(along, Of::row, line);
    }
    __syncthreads();
    if (active) {
      float* const along = field + Of::row * i + Of::plane * j;
      read_line<N>(along, 1, line);
      to_nodes<N>(eigen, line, product);
      write_line<N>(along, 1, product);
    }
    __syncthreads();
    if (active) {
      read_line<N>(field + i + Of::row * j, Of::plane, line);
      to_nodes<N>(eigen + 2 * Of::matrix, line, product);
      add_column<N>(call, element, i, j, product);
    }
    __syncthreads();  // the element's matrices may be overwritten
  }
}

template <int N>
void launch_kernel(const SchwarzCall& call, gpuStream_t stream) {
  using Of = Layout<N>;
  const auto kernel = schwarz_kernel<N>;
  static const unsigned resident = device::gpu::resident_blocks(kernel, Of::threads, Of::shared_bytes);
  const std::size_t count = call.elements.last - call.elements.first;
  if (count == 0) return;
  const std::size_t wanted = (count + Of::elements - 1) / Of::elements;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(wanted, resident));
  kernel<<<blocks, Of::threads, Of::shared_bytes, stream>>>(call);
  check(gpuGetLastError(), "kernel launch");
}

}  // namespace

void schwarz_on_gpu(int order, const SchwarzCall& call, device::Stream& stream) {
  auto* const native = static_cast<gpuStream_t>(stream.native());
  with_extended_nodes(order, [&](auto nodes) { launch_kernel<decltype(nodes)::value>(call, native); });
}

}  // namespace commlens::solvers

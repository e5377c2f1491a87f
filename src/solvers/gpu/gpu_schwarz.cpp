// The Schwarz smoother on a GPU. A block solves several extended elements, each with N nodes in a direction. A thread
// has two of an element's N x N lines in registers, in one direction after the other; between, shared memory holds the
// element. So all threads of an element read the same row of a matrix of eigenvectors at once, for two lines each.
//
// Of an element of order 7 (N = 10) the six products are 49,520 multiply-adds, as on the way back only the element's
// own nodes are computed: for 8000 elements 13 us of an H100's arithmetic in single precision. Eigenvectors, numbers of
// unknowns and of neighbors' unknowns are 5.2 kB, and vectors 4.1 kB, which are 25 us of its memory. Both overlap only
// as far as other blocks compute while one waits: so a thread has few registers (63 for N = 10).
#include <cstddef>
#include <cstdint>

#include "device/gpu/launch.hpp"
#include "sem/numbering.hpp"
#include "solvers/kernels.hpp"

namespace commlens::solvers {

namespace {

using sem::Numbering;

/// Of an extended element with N nodes in each direction.
template <int N>
struct Layout {
  static constexpr int interior = N - 2;  ///< nodes of the element itself
  static constexpr int row = N;
  static constexpr int plane = N * N | 3;  ///< lanes that read lines in any direction meet in few banks
  static constexpr int field = plane * N;
  static constexpr int matrix_row = static_cast<int>(EigenLayout::row(N));
  static constexpr int matrix = static_cast<int>(EigenLayout::matrix(N));
  static constexpr int eigen = static_cast<int>(EigenLayout::element(N));
  static constexpr int lines = 2;                         ///< of a thread
  static constexpr int groups = (N + lines - 1) / lines;  ///< of lines: a thread has lines group, group + groups
  static constexpr int element_threads = N * groups;
  static constexpr int threads = element_threads <= 160 ? 160 : (element_threads + 31) / 32 * 32;
  static constexpr int elements = threads / element_threads;
  static constexpr std::size_t shared_bytes = sizeof(float) * static_cast<std::size_t>((eigen + field) * elements);
};

/// A thread's lines, of N values each.
template <int N>
using Lines = float[Layout<N>::lines][N];

/// products[l][x] = sum over m of matrix[m][x] lines[l][m]: from nodes to eigenvectors.
template <int N>
__device__ inline void to_eigenvectors(const float* matrix, const Lines<N>& lines, Lines<N>& products) {
#pragma unroll
  for (int l = 0; l < Layout<N>::lines; ++l) {
#pragma unroll
    for (int x = 0; x < N; ++x) products[l][x] = 0;
  }
#pragma unroll
  for (int m = 0; m < N; ++m) {
#pragma unroll
    for (int x = 0; x < N; x += 4) {
      const float4 four = *reinterpret_cast<const float4*>(matrix + m * Layout<N>::matrix_row + x);
#pragma unroll
      for (int l = 0; l < Layout<N>::lines; ++l) {
        products[l][x] += four.x * lines[l][m];
        if (x + 1 < N) products[l][x + 1 < N ? x + 1 : 0] += four.y * lines[l][m];
        if (x + 2 < N) products[l][x + 2 < N ? x + 2 : 0] += four.z * lines[l][m];
        if (x + 3 < N) products[l][x + 3 < N ? x + 3 : 0] += four.w * lines[l][m];
      }
    }
  }
}

/// products[l][m] = sum over x of matrix[m][x] lines[l][x]: back, to the element's own nodes.
template <int N>
__device__ inline void to_nodes(const float* matrix, const Lines<N>& lines, Lines<N>& products) {
#pragma unroll
  for (int l = 0; l < Layout<N>::lines; ++l) {
#pragma unroll
    for (int m = 1; m < N - 1; ++m) products[l][m] = 0;
  }
#pragma unroll
  for (int x = 0; x < N; x += 4) {
#pragma unroll
    for (int m = 1; m < N - 1; ++m) {
      const float4 four = *reinterpret_cast<const float4*>(matrix + m * Layout<N>::matrix_row + x);
#pragma unroll
      for (int l = 0; l < Layout<N>::lines; ++l) {
        products[l][m] += four.x * lines[l][x];
        if (x + 1 < N) products[l][m] += four.y * lines[l][x + 1 < N ? x + 1 : 0];
        if (x + 2 < N) products[l][m] += four.z * lines[l][x + 2 < N ? x + 2 : 0];
        if (x + 3 < N) products[l][m] += four.w * lines[l][x + 3 < N ? x + 3 : 0];
      }
    }
  }
}

/// Places of the nodes (i, j, 0 …) of the extended element: its own, those of neighbors around, and none at edges and
/// corners.
template <int N>
__device__ inline void read_places(const SchwarzCall& call, std::size_t element, int i, int j,
                                   std::uint32_t (&place)[N]) {
  constexpr int n = Layout<N>::interior;
  const std::uint32_t* const faces = call.neighbors + element * 6 * n * n;
  const bool inside_i = i > 0 && i < N - 1;
  const bool inside_j = j > 0 && j < N - 1;
#pragma unroll
  for (int k = 0; k < N; ++k) place[k] = Numbering::fixed;
  if (inside_i && inside_j) {
    const int face = (i - 1) + n * (j - 1);
    const std::uint32_t* const nodes = call.unknowns + element * n * n * n + face;
    place[0] = faces[4 * n * n + face];
    place[N - 1] = faces[5 * n * n + face];
#pragma unroll
    for (int k = 0; k < n; ++k) place[k + 1] = nodes[k * n * n];
  } else if (inside_i != inside_j) {
    const int side = inside_j ? (i == 0 ? 0 : 1) : (j == 0 ? 2 : 3);
    const std::uint32_t* const nodes = faces + side * n * n + (inside_j ? j - 1 : i - 1);
#pragma unroll
    for (int k = 0; k < n; ++k) place[k + 1] = nodes[k * n];
  }
}

/// A thread's part of one element. Lines are numbered by a second index, besides `own`.
template <int N>
struct Part {
  using Of = Layout<N>;

  const SchwarzCall& call;
  const float* eigen;  ///< in shared memory
  float* field;
  std::size_t element;
  int own;    ///< i of its lines along t, k of all others
  int group;  ///< of lines

  [[nodiscard]] __device__ int line(int l) const { return group + Of::groups * l; }

  __device__ void read_lines(const float* from, int apart, int stride, int end, Lines<N>& lines) const {
#pragma unroll
    for (int l = 0; l < Of::lines; ++l) {
#pragma unroll
      for (int m = 0; m < N; ++m) lines[l][m] = line(l) < end ? from[line(l) * apart + m * stride] : 0.0F;
    }
  }
  /// Values First … N - 1 - First.
  template <int First>
  __device__ void write_lines(float* to, int apart, int stride, int end, const Lines<N>& lines) const {
#pragma unroll
    for (int l = 0; l < Of::lines; ++l) {
      if (line(l) >= end) break;
#pragma unroll
      for (int m = First; m < N - First; ++m) to[line(l) * apart + m * stride] = lines[l][m];
    }
  }

  __device__ void read_all_places(std::uint32_t (&places)[Of::lines][N]) const {
#pragma unroll
    for (int l = 0; l < Of::lines; ++l) read_places<N>(call, element, own, line(l), places[l]);
  }

  __device__ void read_and_transform_t(const std::uint32_t (&places)[Of::lines][N]) const {
    Lines<N> values;
    Lines<N> products;
#pragma unroll
    for (int l = 0; l < Of::lines; ++l) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        const bool none = places[l][k] == Numbering::fixed;
        values[l][k] = none ? 0.0F : call.input[places[l][k] & ~Numbering::by_several];
      }
    }
    to_eigenvectors<N>(eigen + 2 * Of::matrix, values, products);
    write_lines<0>(field + own, Of::row, Of::plane, N, products);
  }

  __device__ void transform_r() const {
    float* const at = field + Of::plane * own;
    Lines<N> values;
    Lines<N> products;
    read_lines(at, Of::row, 1, N, values);
    to_eigenvectors<N>(eigen, values, products);
    write_lines<0>(at, Of::row, 1, N, products);
  }

  __device__ void transform_s_and_divide(Lines<N>& products) const {
    const float* const values_of_r = eigen + 3 * Of::matrix;
    const float* const values_of_s = values_of_r + Of::matrix_row;
    Lines<N> values;
    read_lines(field + Of::plane * own, 1, Of::row, N, values);
    to_eigenvectors<N>(eigen + Of::matrix, values, products);
#pragma unroll
    for (int l = 0; l < Of::lines; ++l) {
      const float sum = values_of_s[Of::matrix_row + own] + values_of_r[line(l) < N ? line(l) : 0];
#pragma unroll
      for (int m = 0; m < N; ++m) products[l][m] = __fdividef(products[l][m], sum + values_of_s[m]);
    }
  }

  __device__ void back_s(const Lines<N>& products) const {
    Lines<N> values;
    to_nodes<N>(eigen + Of::matrix, products, values);
    write_lines<1>(field + Of::plane * own, 1, Of::row, N, values);
  }

  /// From here on of the own nodes alone: lines 1 … N - 2.
  __device__ void back_r() const {
    float* const at = field + Of::plane * own + Of::row;
    Lines<N> values;
    Lines<N> products;
    read_lines(at, Of::row, 1, N - 2, values);
    to_nodes<N>(eigen, values, products);
    write_lines<1>(at, Of::row, 1, N - 2, products);
  }

  __device__ void back_t_and_add() const {
    if (own == 0 || own == N - 1) return;
    Lines<N> values;
    Lines<N> products;
    read_lines(field + own + Of::row, Of::row, Of::plane, N - 2, values);
    to_nodes<N>(eigen + 2 * Of::matrix, values, products);
#pragma unroll
    for (int l = 0; l < Of::lines; ++l) {
      if (line(l) < N - 2) add_line(line(l), products[l]);
    }
  }

  /// Adds to the element's own unknowns; those that no other element has are written.
  __device__ void add_line(int j, const float (&values)[N]) const {
    constexpr int n = Of::interior;
    const std::uint32_t* const nodes = call.unknowns + element * n * n * n + (own - 1) + n * j;
    std::uint32_t unknown[n];
    float weight[n];
#pragma unroll
    for (int k = 0; k < n; ++k) unknown[k] = nodes[n * n * k];
#pragma unroll
    for (int k = 0; k < n; ++k) {
      const bool none = unknown[k] == Numbering::fixed;
      weight[k] = none ? 0.0F : call.weights[unknown[k] & ~Numbering::by_several];
    }
#pragma unroll
    for (int k = 0; k < n; ++k) {
      const float value = weight[k] * values[k + 1];
      const bool by_several = unknown[k] >= Numbering::by_several;
      float* const place = call.output + (unknown[k] & ~Numbering::by_several);
      if (!by_several) *place = value;
      if (by_several && unknown[k] != Numbering::fixed) gpuAtomicAdd(place, value);
    }
  }
};

template <int N>
__device__ inline void copy_eigenvectors(const SchwarzCall& call, std::size_t first, float* shared) {
  constexpr int fours = Layout<N>::eigen / 4;
  const std::size_t left = call.elements.last - first;
  const int count = fours * static_cast<int>(left < Layout<N>::elements ? left : Layout<N>::elements);
  const auto* const from = reinterpret_cast<const float4*>(call.eigen) + first * fours;
#pragma unroll 4
  for (int at = static_cast<int>(threadIdx.x); at < count; at += Layout<N>::threads) {
    reinterpret_cast<float4*>(shared)[at] = from[at];
  }
}

template <int N>
__global__ void gpuLaunchBounds(Layout<N>::threads, 0) schwarz_kernel(const SchwarzCall call) {
  using Of = Layout<N>;
  extern __shared__ float4 words[];
  float* const eigen = reinterpret_cast<float*>(words);
  float* const fields = eigen + Of::elements * Of::eigen;
  const int thread = static_cast<int>(threadIdx.x);
  const int slot = thread / Of::element_threads;
  const std::size_t first = call.elements.first + static_cast<std::size_t>(blockIdx.x) * Of::elements;
  const bool active = slot < Of::elements && first + slot < call.elements.last;
  const Part<N> part{call,       eigen + slot * Of::eigen,        fields + slot * Of::field, first + slot,
                     thread % N, thread % Of::element_threads / N};
  std::uint32_t places[Of::lines][N];
  if (active) part.read_all_places(places);
  copy_eigenvectors<N>(call, first, eigen);
  __syncthreads();
  device::gpu::wait_for_previous_kernel();
  if (active) part.read_and_transform_t(places);
  __syncthreads();
  if (active) part.transform_r();
  __syncthreads();
  Lines<N> products;
  if (active) part.transform_s_and_divide(products);
  __syncthreads();  // or the compiler keeps the matrix in registers, from one product to the other
  if (active) part.back_s(products);
  __syncthreads();
  if (active) part.back_r();
  __syncthreads();
  if (active) part.back_t_and_add();
}

template <int N>
void launch_kernel(const SchwarzCall& call, void* stream) {
  using Of = Layout<N>;
  const std::size_t count = call.elements.last - call.elements.first;
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count + Of::elements - 1) / Of::elements);
  device::gpu::launch_dependent<schwarz_kernel<N>>(blocks, Of::threads, Of::shared_bytes, stream, call);
}

}  // namespace

void schwarz_on_gpu(int order, const SchwarzCall& call, device::Stream& stream) {
  void* const native = stream.native();
  with_extended_nodes(order, [&](auto nodes) { launch_kernel<decltype(nodes)::value>(call, native); });
}

}  // namespace commlens::solvers

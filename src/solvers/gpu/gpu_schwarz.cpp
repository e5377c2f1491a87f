// The Schwarz smoother on a GPU. A block solves several extended elements, each with N nodes in a direction. A thread
// has some of an element's N x N lines in registers, in one direction after the other; between, shared memory holds the
// element. So all threads of an element read the same row of a matrix of eigenvectors at once, for several lines each.
//
// Of an element of order 7 (N = 10) the six products are 49,520 multiply-adds, as on the way back only the element's
// own nodes are computed: for 8000 elements 13 us of an H100's arithmetic in single precision. Eigenvectors, numbers of
// unknowns and of neighbors' unknowns are 5.2 kB, and vectors 4.1 kB, which are 25 us of its memory. It takes 81 us:
// 168 registers of a thread leave room for 12 warps per multiprocessor, which mostly wait for memory.
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
  static constexpr int plane = N * N | 1;  ///< odd: the same place of all planes is in different banks
  static constexpr int field = plane * N;
  static constexpr int matrix_row = static_cast<int>(EigenLayout::row(N));
  static constexpr int matrix = static_cast<int>(EigenLayout::matrix(N));
  static constexpr int eigen = static_cast<int>(EigenLayout::element(N));
  static constexpr int groups = 2;  ///< threads that share the lines of one index
  static constexpr int threads = 64;
  static constexpr int elements = threads / (groups * N);
  static constexpr std::size_t shared_bytes = sizeof(float) * static_cast<std::size_t>((eigen + field) * elements);
  /// Blocks per multiprocessor that its registers must suffice for.
  static constexpr int at_once = N <= 10 ? 6 : 0;

  /// Lines that a thread has in registers at the same time, of `count`: 50 values at most.
  static constexpr int lines(int count) {
    const int most = 50 / N;
    const int of_group = (count + groups - 1) / groups;
    const int parts = (of_group + most - 1) / most;
    return (of_group + parts - 1) / parts;
  }
};

/// Some lines of an element, of N values each.
template <int N, int Lines>
using LinesOf = float[Lines][N];

template <int N>
__device__ inline void read_row(const float* matrix, int m, float (&row)[Layout<N>::matrix_row]) {
#pragma unroll
  for (int x = 0; x < Layout<N>::matrix_row; x += 4) {
    const float4 four = *reinterpret_cast<const float4*>(matrix + m * Layout<N>::matrix_row + x);
    row[x] = four.x;
    row[x + 1] = four.y;
    row[x + 2] = four.z;
    row[x + 3] = four.w;
  }
}

/// products[l][x] = sum over m of matrix[m][x] lines[l][m]: from nodes to eigenvectors.
template <int N, int Lines>
__device__ inline void to_eigenvectors(const float* matrix, const LinesOf<N, Lines>& lines,
                                       LinesOf<N, Lines>& products) {
#pragma unroll
  for (int l = 0; l < Lines; ++l) {
#pragma unroll
    for (int x = 0; x < N; ++x) products[l][x] = 0;
  }
#pragma unroll
  for (int m = 0; m < N; ++m) {
    float row[Layout<N>::matrix_row];
    read_row<N>(matrix, m, row);
#pragma unroll
    for (int l = 0; l < Lines; ++l) {
#pragma unroll
      for (int x = 0; x < N; ++x) products[l][x] += row[x] * lines[l][m];
    }
  }
}

/// products[l][m] = sum over x of matrix[m][x] lines[l][x]: back, to the element's own nodes.
template <int N, int Lines>
__device__ inline void to_nodes(const float* matrix, const LinesOf<N, Lines>& lines, LinesOf<N, Lines>& products) {
#pragma unroll
  for (int m = 1; m < N - 1; ++m) {
    float row[Layout<N>::matrix_row];
    read_row<N>(matrix, m, row);
#pragma unroll
    for (int l = 0; l < Lines; ++l) {
      float sum = 0;
#pragma unroll
      for (int x = 0; x < N; ++x) sum += row[x] * lines[l][x];
      products[l][m] = sum;
    }
  }
}

/// Lines of which each begins `apart` after the one before; of these there are `count`.
template <int N, int Lines>
__device__ inline void read_lines(const float* from, int apart, int stride, int count, LinesOf<N, Lines>& lines) {
#pragma unroll
  for (int l = 0; l < Lines; ++l) {
#pragma unroll
    for (int m = 0; m < N; ++m) lines[l][m] = l < count ? from[l * apart + m * stride] : 0.0F;
  }
}

/// Their values First … N - 1 - First.
template <int N, int Lines, int First>
__device__ inline void write_lines(float* to, int apart, int stride, int count, const LinesOf<N, Lines>& lines) {
#pragma unroll
  for (int l = 0; l < Lines; ++l) {
    if (l >= count) break;
#pragma unroll
    for (int m = First; m < N - First; ++m) to[l * apart + m * stride] = lines[l][m];
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
  const std::uint32_t* nodes = nullptr;
  int stride = n;
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
}

/// A thread's part of one element.
template <int N>
struct Part {
  using Of = Layout<N>;
  static constexpr int lines = Of::lines(N);
  static constexpr int inner_lines = Of::lines(Of::interior);

  const SchwarzCall& call;
  const float* eigen;  ///< in shared memory
  float* field;
  std::size_t element;
  int own;    ///< i of its lines along t, k of its other lines
  int group;  ///< of lines

  /// Several lines' places are read before any value is: one after the other they would cost a latency of memory each.
  __device__ void read_and_transform_t() const {
#pragma unroll 1
    for (int j = group * lines; j < N; j += Of::groups * lines) {
      std::uint32_t place[lines][N];
      LinesOf<N, lines> values;
      LinesOf<N, lines> products;
#pragma unroll
      for (int l = 0; l < lines; ++l) read_places<N>(call, element, own, j + l, place[l]);
#pragma unroll
      for (int l = 0; l < lines; ++l) {
#pragma unroll
        for (int k = 0; k < N; ++k) {
          const bool none = place[l][k] == Numbering::fixed;
          values[l][k] = none ? 0.0F : call.input[place[l][k] & ~Numbering::by_several];
        }
      }
      to_eigenvectors<N, lines>(eigen + 2 * Of::matrix, values, products);
      write_lines<N, lines, 0>(field + own + Of::row * j, Of::row, Of::plane, N - j, products);
    }
  }

  __device__ void transform_r() const {
#pragma unroll 1
    for (int j = group * lines; j < N; j += Of::groups * lines) {
      float* const at = field + Of::plane * own + Of::row * j;
      LinesOf<N, lines> values;
      LinesOf<N, lines> products;
      read_lines<N, lines>(at, Of::row, 1, N - j, values);
      to_eigenvectors<N, lines>(eigen, values, products);
      write_lines<N, lines, 0>(at, Of::row, 1, N - j, products);
    }
  }

  /// To eigenvectors, where values are divided by the eigenvalues, and back.
  __device__ void solve_s() const {
    const float* const values_of_r = eigen + 3 * Of::matrix;
    const float* const values_of_s = values_of_r + Of::matrix_row;
    const float value_of_t = values_of_s[Of::matrix_row + own];
#pragma unroll 1
    for (int i = group * lines; i < N; i += Of::groups * lines) {
      float* const at = field + Of::plane * own + i;
      LinesOf<N, lines> values;
      LinesOf<N, lines> products;
      read_lines<N, lines>(at, 1, Of::row, N - i, values);
      to_eigenvectors<N, lines>(eigen + Of::matrix, values, products);
#pragma unroll
      for (int l = 0; l < lines; ++l) {
        const float sum = value_of_t + values_of_r[i + l < N ? i + l : 0];
#pragma unroll
        for (int m = 0; m < N; ++m) products[l][m] = __fdividef(products[l][m], sum + values_of_s[m]);
      }
      to_nodes<N, lines>(eigen + Of::matrix, products, values);
      write_lines<N, lines, 1>(at, 1, Of::row, N - i, values);
    }
  }

  __device__ void back_r() const {
#pragma unroll 1
    for (int j = 1 + group * inner_lines; j < N - 1; j += Of::groups * inner_lines) {
      float* const at = field + Of::plane * own + Of::row * j;
      LinesOf<N, inner_lines> values;
      LinesOf<N, inner_lines> products;
      read_lines<N, inner_lines>(at, Of::row, 1, N - 1 - j, values);
      to_nodes<N, inner_lines>(eigen, values, products);
      write_lines<N, inner_lines, 1>(at, Of::row, 1, N - 1 - j, products);
    }
  }

  __device__ void back_t_and_add() const {
    if (own == 0 || own == N - 1) return;
#pragma unroll 1
    for (int j = 1 + group * inner_lines; j < N - 1; j += Of::groups * inner_lines) {
      LinesOf<N, inner_lines> values;
      LinesOf<N, inner_lines> products;
      read_lines<N, inner_lines>(field + own + Of::row * j, Of::row, Of::plane, N - 1 - j, values);
      to_nodes<N, inner_lines>(eigen + 2 * Of::matrix, values, products);
      add_lines(j, products);
    }
  }

  /// Adds to the element's own unknowns; those that no other element has are written.
  __device__ void add_lines(int j, const LinesOf<N, inner_lines>& products) const {
    constexpr int n = Of::interior;
    const std::uint32_t* const nodes = call.unknowns + element * n * n * n + (own - 1) + n * (j - 1);
    std::uint32_t unknown[inner_lines][n];
    float weight[inner_lines][n];
#pragma unroll
    for (int l = 0; l < inner_lines; ++l) {
#pragma unroll
      for (int k = 0; k < n; ++k) unknown[l][k] = j + l < N - 1 ? nodes[n * l + n * n * k] : Numbering::fixed;
    }
#pragma unroll
    for (int l = 0; l < inner_lines; ++l) {
#pragma unroll
      for (int k = 0; k < n; ++k) {
        const bool none = unknown[l][k] == Numbering::fixed;
        weight[l][k] = none ? 0.0F : call.weights[unknown[l][k] & ~Numbering::by_several];
      }
    }
#pragma unroll
    for (int l = 0; l < inner_lines; ++l) {
#pragma unroll
      for (int k = 0; k < n; ++k) {
        const float value = weight[l][k] * products[l][k + 1];
        const bool by_several = unknown[l][k] >= Numbering::by_several;
        float* const place = call.output + (unknown[l][k] & ~Numbering::by_several);
        if (!by_several) *place = value;
        if (by_several && unknown[l][k] != Numbering::fixed) gpuAtomicAdd(place, value);
      }
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
__global__ void gpuLaunchBounds(Layout<N>::threads, Layout<N>::at_once) schwarz_kernel(const SchwarzCall call) {
  using Of = Layout<N>;
  extern __shared__ float4 words[];
  float* const eigen = reinterpret_cast<float*>(words);
  float* const fields = eigen + Of::elements * Of::eigen;
  const int slot = static_cast<int>(threadIdx.x) / (Of::groups * N);
  const int group = static_cast<int>(threadIdx.x) / N % Of::groups;
  const int own = static_cast<int>(threadIdx.x) % N;
  const std::size_t first = call.elements.first + static_cast<std::size_t>(blockIdx.x) * Of::elements;
  const bool active = slot < Of::elements && first + slot < call.elements.last;
  const Part<N> part{call, eigen + slot * Of::eigen, fields + slot * Of::field, first + slot, own, group};
  copy_eigenvectors<N>(call, first, eigen);
  __syncthreads();
  device::gpu::wait_for_previous_kernel();
  if (active) part.read_and_transform_t();
  __syncthreads();
  if (active) part.transform_r();
  __syncthreads();
  if (active) part.solve_s();
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

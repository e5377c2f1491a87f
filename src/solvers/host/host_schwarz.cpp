// The Schwarz smoother on the host: six small matrix products an element, with loops over nodes that vectorize.
#include <cstddef>
#include <cstdint>

#include "device/host/target_clones.hpp"
#include "sem/numbering.hpp"
#include "solvers/kernels.hpp"

namespace commlens::solvers {

namespace {

using sem::Numbering;

/// An extended element: N nodes in each direction.
template <int N>
struct Workspace {
  static constexpr int row = static_cast<int>(EigenLayout::row(N));
  static constexpr int nodes = N * N * N;

  alignas(64) float u[nodes + row] = {};
  alignas(64) float v[nodes + row] = {};
  alignas(64) float transposed[3][N][row] = {};  ///< [eigenvector][node]
};

template <int N>
// NOLINTNEXTLINE(readability-non-const-parameter): it is written
inline void gather(const SchwarzCall& call, std::size_t element, float* __restrict u) {
  constexpr int n = N - 2;
  const auto value = [&](std::uint32_t place) {
    return place == Numbering::fixed ? 0.0F : call.input[place & ~Numbering::by_several];
  };
  const std::uint32_t* const unknowns = call.unknowns + element * n * n * n;
  const std::uint32_t* const faces = call.neighbors + element * 6 * n * n;
  const auto at = [](int i, int j, int k) { return i + N * (j + N * k); };
  for (int k = 0; k < n; ++k) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) u[at(i + 1, j + 1, k + 1)] = value(unknowns[i + n * (j + n * k)]);
    }
  }
  for (int b = 0; b < n; ++b) {
    for (int a = 0; a < n; ++a) {
      const int face = a + n * b;
      for (int upper = 0; upper < 2; ++upper) {
        const int end = upper * (N - 1);
        u[at(end, a + 1, b + 1)] = value(faces[(0 + upper) * n * n + face]);
        u[at(a + 1, end, b + 1)] = value(faces[(2 + upper) * n * n + face]);
        u[at(a + 1, b + 1, end)] = value(faces[(4 + upper) * n * n + face]);
      }
    }
  }
}

/// output[line][x] = sum over m of matrix[m][x] input[line][m], for N * N lines along the first direction.
template <int N>
inline void multiply_first(const float* __restrict matrix, const float* __restrict input, float* __restrict output) {
  constexpr int row = Workspace<N>::row;
  for (int line = 0; line < N * N; ++line) {
    float sums[row] = {};
#pragma GCC unroll 18
    for (int m = 0; m < N; ++m) {
      for (int x = 0; x < row; ++x) sums[x] += matrix[m * row + x] * input[line * N + m];
    }
    for (int x = 0; x < N; ++x) output[line * N + x] = sums[x];
  }
}

/// output[outer][x][inner] = sum over m of matrix[m][x] input[outer][m][inner].
template <int N, std::size_t Inner, std::size_t Outer>
inline void multiply_other(const float* __restrict matrix, const float* __restrict input, float* __restrict output) {
  constexpr std::size_t row = Workspace<N>::row;
  for (std::size_t outer = 0; outer < Outer; ++outer) {
    for (std::size_t x = 0; x < N; ++x) {
      float* const to = output + (outer * N + x) * Inner;
      const float* const from = input + (outer * N) * Inner;
#pragma GCC unroll 1
      for (std::size_t inner = 0; inner < Inner; ++inner) {
        float sum = 0;
#pragma GCC unroll 18
        for (std::size_t m = 0; m < N; ++m) sum += matrix[m * row + x] * from[m * Inner + inner];
        to[inner] = sum;
      }
    }
  }
}

template <int N>
inline void transpose(const float* matrices, Workspace<N>& w) {
  for (int axis = 0; axis < 3; ++axis) {
    for (int node = 0; node < N; ++node) {
      for (int q = 0; q < N; ++q) w.transposed[axis][q][node] = matrices[(axis * N + node) * w.row + q];
    }
  }
}

/// u = the solution for the right-hand side u.
template <int N>
inline void solve(const float* eigen, Workspace<N>& w) {
  constexpr std::size_t matrix = std::size_t{N} * Workspace<N>::row;
  const float* const values = eigen + 3 * matrix;
  transpose<N>(eigen, w);
  multiply_first<N>(eigen, w.u, w.v);
  multiply_other<N, N, N>(eigen + matrix, w.v, w.u);
  multiply_other<N, std::size_t{N} * N, 1>(eigen + 2 * matrix, w.u, w.v);
  for (int k = 0; k < N; ++k) {
    for (int j = 0; j < N; ++j) {
      const float sum = values[w.row + j] + values[2 * w.row + k];
      for (int i = 0; i < N; ++i) w.v[i + N * (j + N * k)] /= values[i] + sum;
    }
  }
  multiply_other<N, std::size_t{N} * N, 1>(&w.transposed[2][0][0], w.v, w.u);
  multiply_other<N, N, N>(&w.transposed[1][0][0], w.u, w.v);
  multiply_first<N>(&w.transposed[0][0][0], w.v, w.u);
}

template <int N>
inline void add_interior(const SchwarzCall& call, std::size_t element, const float* __restrict u) {
  constexpr int n = N - 2;
  const std::uint32_t* const unknowns = call.unknowns + element * n * n * n;
  for (int k = 0; k < n; ++k) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        const std::uint32_t unknown = unknowns[i + n * (j + n * k)];
        if (unknown == Numbering::fixed) continue;
        const std::uint32_t place = unknown & ~Numbering::by_several;
        const float value = call.weights[place] * u[i + 1 + N * (j + 1 + N * (k + 1))];
        call.output[place] = unknown < Numbering::by_several ? value : call.output[place] + value;
      }
    }
  }
}

template <int N>
COMMLENS_FOR_EACH_PROCESSOR void apply_to_elements(const SchwarzCall& call) {
  Workspace<N> w;
  for (std::size_t element = call.elements.first; element < call.elements.last; ++element) {
    for (float& value : w.u) value = 0;
    gather<N>(call, element, w.u);
    solve<N>(call.eigen + element * EigenLayout::element(N), w);
    add_interior<N>(call, element, w.u);
  }
}

}  // namespace

void schwarz_on_host(int order, const SchwarzCall& call, device::Stream& stream) {
  with_extended_nodes(order,
                      [&](auto nodes) { stream.enqueue([call] { apply_to_elements<decltype(nodes)::value>(call); }); });
}

}  // namespace commlens::solvers

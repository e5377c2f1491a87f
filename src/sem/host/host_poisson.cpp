// The operator on the host. Loops are over nodes that lie one after the other, so that the compiler makes vectors of
// them.
#include <cstddef>

#include "sem/poisson_kernel.hpp"

// The same code for several generations of processors, of which the program takes the best at its start: a binary that
// is built on a login node then uses what the compute node has.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define COMMLENS_FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define COMMLENS_FOR_EACH_PROCESSOR
#endif

namespace commlens::sem {

namespace {

template <int N>
struct Workspace {
  static constexpr int plane = N * N;
  static constexpr int nodes = N * N * N;

  alignas(64) double u[nodes];
  alignas(64) double ur[nodes];
  alignas(64) double us[nodes];
  alignas(64) double ut[nodes];
  /// dx/dr and dx/ds as a + b t, dx/dt: [axis][column].
  alignas(64) double dr[2][3][plane];
  alignas(64) double ds[2][3][plane];
  alignas(64) double dt[3][plane];
};

/// Rows of D, and its columns.
template <int N>
struct Matrices {
  alignas(64) double d[N][N];
  alignas(64) double transposed[N][N];

  explicit Matrices(const Basis<N>& basis) {
    for (int i = 0; i < N; ++i) {
      for (int m = 0; m < N; ++m) {
        d[i][m] = basis.derivative[i][m];
        transposed[m][i] = d[i][m];
      }
    }
  }
};

template <int N>
inline void gather(const PoissonCall& call, std::size_t first_node, double* u) {
  if (call.unknowns == nullptr) {
    for (int node = 0; node < N * N * N; ++node) u[node] = call.input[first_node + static_cast<std::size_t>(node)];
    return;
  }
  for (int node = 0; node < N * N * N; ++node) {
    const std::uint32_t unknown = call.unknowns[first_node + static_cast<std::size_t>(node)];
    u[node] = unknown == Numbering::fixed ? 0.0 : call.input[unknown & ~Numbering::by_several];
  }
}

template <int N>
inline void scatter(const PoissonCall& call, std::size_t first_node, const double* result) {
  for (int node = 0; node < N * N * N; ++node) {
    const std::size_t place = first_node + static_cast<std::size_t>(node);
    if (call.unknowns == nullptr) {
      call.output[place] = result[node];
    } else if (call.unknowns[place] != Numbering::fixed) {
      call.output[call.unknowns[place] & ~Numbering::by_several] += result[node];
    }
  }
}

template <int N>
inline void derive_along_r(const Matrices<N>& matrices, Workspace<N>& w) {
  for (int row = 0; row < N * N; ++row) {
    double sum[N] = {};
    for (int m = 0; m < N; ++m) {
      for (int i = 0; i < N; ++i) sum[i] += matrices.transposed[m][i] * w.u[row * N + m];
    }
    for (int i = 0; i < N; ++i) w.ur[row * N + i] = sum[i];
  }
}

template <int N>
inline void derive_along_s(const Matrices<N>& matrices, Workspace<N>& w) {
  constexpr int plane = N * N;
  for (int k = 0; k < N; ++k) {
    for (int j = 0; j < N; ++j) {
      double sum[N] = {};
      for (int m = 0; m < N; ++m) {
        for (int i = 0; i < N; ++i) sum[i] += matrices.d[j][m] * w.u[k * plane + m * N + i];
      }
      for (int i = 0; i < N; ++i) w.us[k * plane + j * N + i] = sum[i];
    }
  }
}

template <int N>
inline void derive_along_t(const Matrices<N>& matrices, Workspace<N>& w) {
  constexpr int plane = N * N;
  for (int k = 0; k < N; ++k) {
    for (int j = 0; j < N; ++j) {
      double sum[N] = {};
      for (int m = 0; m < N; ++m) {
        for (int i = 0; i < N; ++i) sum[i] += matrices.d[k][m] * w.u[m * plane + j * N + i];
      }
      for (int i = 0; i < N; ++i) w.ut[k * plane + j * N + i] = sum[i];
    }
  }
}

/// What comes of ur, us, ut goes to `result`, which is not one of them.
template <int N>
inline void derive_transposed(const Matrices<N>& matrices, const Workspace<N>& w, double* result) {
  constexpr int plane = N * N;
  for (int k = 0; k < N; ++k) {
    for (int j = 0; j < N; ++j) {
      double sum[N] = {};
      const int row = k * plane + j * N;
      for (int m = 0; m < N; ++m) {
        for (int i = 0; i < N; ++i) {
          sum[i] += matrices.d[m][i] * w.ur[row + m] + matrices.d[m][j] * w.us[k * plane + m * N + i] +
                    matrices.d[m][k] * w.ut[m * plane + j * N + i];
        }
      }
      for (int i = 0; i < N; ++i) result[row + i] = sum[i];
    }
  }
}

template <int N>
inline void multiply_by_stored(const double* metric, Workspace<N>& w) {
  constexpr int nodes = N * N * N;
  for (int node = 0; node < nodes; ++node) {
    const double g[6] = {metric[node],
                         metric[node + nodes],
                         metric[node + 2 * nodes],
                         metric[node + 3 * nodes],
                         metric[node + 4 * nodes],
                         metric[node + 5 * nodes]};
    multiply_by_metric(g, w.ur[node], w.us[node], w.ut[node]);
  }
}

/// As ColumnOfMap does, for all columns of an element at once.
template <int N>
inline void multiply_by_trilinear(const Trilinear& map, const Basis<N>& basis, Workspace<N>& w) {
  constexpr int plane = N * N;
  for (int axis = 0; axis < 3; ++axis) {
    const auto c = [&](int term) { return map.c[term][axis]; };
    for (int j = 0; j < N; ++j) {
      const double s = basis.points[j];
      for (int i = 0; i < N; ++i) {
        const double r = basis.points[i];
        w.dr[0][axis][j * N + i] = c(1) + c(4) * s;
        w.dr[1][axis][j * N + i] = c(5) + c(7) * s;
        w.ds[0][axis][j * N + i] = c(2) + c(4) * r;
        w.ds[1][axis][j * N + i] = c(6) + c(7) * r;
        w.dt[axis][j * N + i] = c(3) + c(5) * r + s * (c(6) + c(7) * r);
      }
    }
  }
  double weight[plane];
  for (int j = 0; j < N; ++j) {
    for (int i = 0; i < N; ++i) weight[j * N + i] = basis.weights[i] * basis.weights[j];
  }
  for (int k = 0; k < N; ++k) {
    const double t = basis.points[k];
    double* const ur = w.ur + k * plane;
    double* const us = w.us + k * plane;
    double* const ut = w.ut + k * plane;
    for (int column = 0; column < plane; ++column) {
      double xr[3];
      double xs[3];
      double xt[3];
      for (int axis = 0; axis < 3; ++axis) {
        xr[axis] = w.dr[0][axis][column] + w.dr[1][axis][column] * t;
        xs[axis] = w.ds[0][axis][column] + w.ds[1][axis][column] * t;
        xt[axis] = w.dt[axis][column];
      }
      multiply_by_metric(cofactors_of(xr, xs, xt), weight[column] * basis.weights[k], ur[column], us[column],
                         ut[column]);
    }
  }
}

template <int N>
COMMLENS_FOR_EACH_PROCESSOR void apply_to_elements(const Basis<N>& basis, const PoissonCall& call) {
  constexpr std::size_t nodes = std::size_t{N} * N * N;
  const Matrices<N> matrices(basis);
  Workspace<N> w;
  double result[nodes];
  double energy = 0;
  for (std::size_t element = call.elements.first; element < call.elements.last; ++element) {
    gather<N>(call, element * nodes, w.u);
    derive_along_r<N>(matrices, w);
    derive_along_s<N>(matrices, w);
    derive_along_t<N>(matrices, w);
    if (call.metric != nullptr) {
      multiply_by_stored<N>(call.metric + 6 * element * nodes, w);
    } else {
      multiply_by_trilinear<N>(call.maps[element], basis, w);
    }
    derive_transposed<N>(matrices, w, result);
    for (std::size_t node = 0; node < nodes; ++node) energy += w.u[node] * result[node];
    scatter<N>(call, element * nodes, result);
  }
  *call.energy = call.add_energy ? *call.energy + energy : energy;
}

}  // namespace

void apply_on_host(const Gll& gll, const PoissonCall& call, device::Stream& stream) {
  with_nodes(static_cast<int>(gll.points.size()), [&](auto n) {
    const Basis<decltype(n)::value> basis(gll);
    stream.enqueue([basis, call] { apply_to_elements<decltype(n)::value>(basis, call); });
  });
}

}  // namespace commlens::sem

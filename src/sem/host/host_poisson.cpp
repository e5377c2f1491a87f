// The operator on the host, written for SIMD, with software prefetching.
//
// Loops over nodes are vectorized, and loops over m (a row of D) are fully unrolled. Therefore each output is written
// once, with its whole sum over m, rather than accumulated in memory for one m after the other.
#include <cstddef>
#include <cstdint>

#include "device/host/target_clones.hpp"
#include "sem/poisson_kernel.hpp"

namespace commlens::sem {

namespace {

/// A line of nodes is computed in whole SIMD vectors of 256 bits. Results beyond its end are overwritten by the next
/// line, or fall into the padding of the array.
template <class Real, int N>
constexpr int width = (N * sizeof(Real) + 31) / 32 * 32 / sizeof(Real);

template <class Real, int N>
constexpr int padding = width<Real, N> - N;

template <class Real, int N>
struct Workspace {
  static constexpr int plane = N * N;
  static constexpr int nodes = N * N * N;

  alignas(64) Real u[nodes + padding<Real, N>] = {};
  alignas(64) Real ur[nodes + padding<Real, N>] = {};
  alignas(64) Real us[nodes + padding<Real, N>] = {};
  alignas(64) Real ut[nodes] = {};
  alignas(64) Real result[nodes] = {};
  // Of the element's map; see expand(): [power of t][axis][column].
  alignas(64) Real grad_r[2][3][plane];
  alignas(64) Real grad_s[2][3][plane];
  alignas(64) Real grad_t[3][3][plane];
  alignas(64) Real jacobian[3][plane];
};

/// The same for all elements. Rows of the matrices are padded to whole SIMD vectors.
template <class Real, int N>
struct Constants {
  alignas(64) Real derivative[N][width<Real, N>] = {};
  alignas(64) Real transposed[N][width<Real, N>] = {};
  alignas(64) Real inverse_weights[N * N];  ///< of a column: 1 / (w_i w_j)
  const Basis<Real, N>& basis;

  explicit Constants(const Basis<Real, N>& given) : basis(given) {
    for (int i = 0; i < N; ++i) {
      for (int m = 0; m < N; ++m) {
        derivative[i][m] = basis.derivative[i][m];
        transposed[m][i] = basis.derivative[i][m];
        inverse_weights[m * N + i] = 1 / (basis.weights[i] * basis.weights[m]);
      }
    }
  }
};

// ---- vectors of unknowns ----

/// Whether the unknowns inside a line of nodes, without its ends, are contiguous. They are in nearly every line; its
/// ends are often shared with another element.
template <int N>
inline bool consecutive_inside(const std::uint32_t* unknowns) {
  if constexpr (N < 4) return false;
  std::uint32_t difference = 0;
#pragma GCC unroll 16
  for (std::uint32_t i = 2; i < N - 1; ++i) difference |= unknowns[i] - unknowns[1] - (i - 1);
  return difference == 0;
}

inline std::size_t place_of(std::uint32_t unknown) { return unknown & ~Numbering::by_several; }

template <class Real>
inline Real value_of(const Real* input, std::uint32_t unknown) {
  return unknown == Numbering::fixed ? Real{0} : input[place_of(unknown)];
}

/// Unknowns that only this node has are written, others are added to.
template <class Real>
inline void write(Real* output, std::uint32_t unknown, Real value) {
  if (unknown < Numbering::by_several) {
    output[unknown] = value;
  } else if (unknown != Numbering::fixed) {
    output[place_of(unknown)] += value;
  }
}

template <class Real, int N>
inline void gather(const PoissonCall<Real>& call, std::size_t first_node, Real* __restrict u) {
  constexpr std::size_t nodes = std::size_t{N} * N * N;
  const Real* const input = call.input;
  if (call.unknowns == nullptr) {
    for (std::size_t node = 0; node < nodes; ++node) u[node] = input[first_node + node];
    return;
  }
  for (std::size_t line = 0; line < nodes; line += N) {
    const std::uint32_t* const unknowns = call.unknowns + first_node + line;
    if (consecutive_inside<N>(unknowns)) {
      const Real* const inside = input + place_of(unknowns[1]);
      u[line] = value_of(input, unknowns[0]);
      for (std::size_t i = 1; i < N - 1; ++i) u[line + i] = inside[i - 1];
      u[line + N - 1] = value_of(input, unknowns[N - 1]);
    } else {
      for (std::size_t i = 0; i < N; ++i) u[line + i] = value_of(input, unknowns[i]);
    }
  }
}

template <class Real, int N>
inline void subtract(const PoissonCall<Real>& call, std::size_t first_node, const Real* __restrict result) {
  constexpr std::size_t nodes = std::size_t{N} * N * N;
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::uint32_t unknown = call.unknowns[first_node + node];
    if (unknown != Numbering::fixed) call.output[place_of(unknown)] -= result[node];
  }
}

template <class Real, int N>
inline void scatter(const PoissonCall<Real>& call, std::size_t first_node, const Real* __restrict result) {
  constexpr std::size_t nodes = std::size_t{N} * N * N;
  Real* const output = call.output;
  if (call.unknowns == nullptr) {
    for (std::size_t node = 0; node < nodes; ++node) output[first_node + node] = result[node];
    return;
  }
  if (call.subtract) return subtract<Real, N>(call, first_node, result);
  for (std::size_t line = 0; line < nodes; line += N) {
    const std::uint32_t* const unknowns = call.unknowns + first_node + line;
    if (consecutive_inside<N>(unknowns)) {
      Real* const inside = output + place_of(unknowns[1]);
      write(output, unknowns[0], result[line]);
      if (unknowns[1] < Numbering::by_several) {
        for (std::size_t i = 1; i < N - 1; ++i) inside[i - 1] = result[line + i];
      } else {
        for (std::size_t i = 1; i < N - 1; ++i) inside[i - 1] += result[line + i];
      }
      write(output, unknowns[N - 1], result[line + N - 1]);
    } else {
      for (std::size_t i = 0; i < N; ++i) write(output, unknowns[i], result[line + i]);
    }
  }
}

/// Prefetches the data of an element while the one before is computed, so that arithmetic and memory accesses overlap.
template <class Real, int N>
inline void prefetch(const PoissonCall<Real>& call, std::size_t element) {
  constexpr std::size_t nodes = std::size_t{N} * N * N;
  constexpr std::size_t in_cache_line = 64 / sizeof(Real);
  const std::size_t first_node = element * nodes;
  if (call.factors != nullptr) {
    const Real* const factors = call.factors + 6 * first_node;
    for (std::size_t i = 0; i < 6 * nodes; i += in_cache_line) __builtin_prefetch(factors + i);
  }
  if (call.unknowns == nullptr) {
    for (std::size_t node = first_node; node < first_node + nodes; node += in_cache_line) {
      __builtin_prefetch(call.input + node);
      __builtin_prefetch(call.output + node, 1);
    }
    return;
  }
  for (std::size_t line = first_node; line < first_node + nodes; line += N) {
    const std::uint32_t unknown = call.unknowns[line + 1];
    if (unknown == Numbering::fixed) continue;
    __builtin_prefetch(call.input + place_of(unknown));
    __builtin_prefetch(call.output + place_of(unknown), 1);
  }
}

// ---- derivatives ----

/// For a plane: output[j][i] = sum over m of matrix[m][i] input[j][m].
template <class Real, int N>
inline void multiply_along_r(const Real (&matrix)[N][width<Real, N>], const Real* __restrict input,
                             Real* __restrict output) {
  for (int j = 0; j < N; ++j) {
#pragma GCC unroll 1
    for (int i = 0; i < width<Real, N>; ++i) {
      Real sum = 0;
#pragma GCC unroll 16
      for (int m = 0; m < N; ++m) sum += matrix[m][i] * input[j * N + m];
      output[j * N + i] = sum;
    }
  }
}

/// output[j][column] = sum over m of matrix[j][m] input[m][column], with rows of `stride` values, of which `columns`
/// are computed.
template <class Real, int N, int stride, int columns>
inline void multiply_across(const Real (&matrix)[N][width<Real, N>], const Real* __restrict input,
                            Real* __restrict output) {
  for (int j = 0; j < N; ++j) {
#pragma GCC unroll 1
    for (int column = 0; column < columns; ++column) {
      Real sum = 0;
#pragma GCC unroll 16
      for (int m = 0; m < N; ++m) sum += matrix[j][m] * input[m * stride + column];
      output[j * stride + column] = sum;
    }
  }
}

/// Of a plane.
template <class Real, int N>
inline void multiply_along_s(const Real (&matrix)[N][width<Real, N>], const Real* __restrict input,
                             Real* __restrict output) {
  multiply_across<Real, N, N, width<Real, N>>(matrix, input, output);
}

/// Of an element.
template <class Real, int N>
inline void multiply_along_t(const Real (&matrix)[N][width<Real, N>], const Real* __restrict input,
                             Real* __restrict output) {
  multiply_across<Real, N, N * N, N * N>(matrix, input, output);
}

/// ur, us, ut = the derivatives of u.
template <class Real, int N>
inline void derive(const Constants<Real, N>& constants, Workspace<Real, N>& w) {
  constexpr int plane = N * N;
  for (int k = 0; k < N; ++k) {
    multiply_along_r<Real, N>(constants.transposed, w.u + k * plane, w.ur + k * plane);
    multiply_along_s<Real, N>(constants.derivative, w.u + k * plane, w.us + k * plane);
  }
  multiply_along_t<Real, N>(constants.derivative, w.u, w.ut);
}

/// result = D^T (ur, us, ut).
template <class Real, int N>
inline void derive_transposed(const Constants<Real, N>& constants, Workspace<Real, N>& w) {
  constexpr int plane = N * N;
  alignas(64) Real along_r[plane + padding<Real, N>];
  alignas(64) Real along_s[plane + padding<Real, N>];
  multiply_along_t<Real, N>(constants.transposed, w.ut, w.result);
  for (int k = 0; k < N; ++k) {
    multiply_along_r<Real, N>(constants.derivative, w.ur + k * plane, along_r);
    multiply_along_s<Real, N>(constants.transposed, w.us + k * plane, along_s);
    Real* const result = w.result + k * plane;
    for (int column = 0; column < plane; ++column) result[column] += along_r[column] + along_s[column];
  }
}

// ---- geometry ----

template <class Real, int N>
inline void multiply_by_stored(const Real* factors, Workspace<Real, N>& w) {
  constexpr int nodes = N * N * N;
  for (int node = 0; node < nodes; ++node) {
    const Real g[6] = {factors[node],
                       factors[node + nodes],
                       factors[node + 2 * nodes],
                       factors[node + 3 * nodes],
                       factors[node + 4 * nodes],
                       factors[node + 5 * nodes]};
    multiply_by_factors(g, w.ur[node], w.us[node], w.ut[node]);
  }
}

/// In a column dx/dr = a + b t, dx/ds = c + d t and dx/dt = e, so that the cofactors are polynomials in t:
///   J grad r = dx/ds x dx/dt = c x e + (d x e) t
///   J grad s = dx/dt x dx/dr = e x a + (e x b) t
///   J grad t = dx/dr x dx/ds = a x c + (a x d + b x c) t + (b x d) t^2
/// and J = e . J grad t, which is stored divided by the weights of the column.
template <class Real, int N>
inline void expand(const TrilinearOf<Real>& map, const Constants<Real, N>& constants, Workspace<Real, N>& w) {
  for (int j = 0; j < N; ++j) {
    for (int i = 0; i < N; ++i) {
      const ColumnOfMap<Real> of(map, constants.basis.points[i], constants.basis.points[j]);
      Real grad_r[2][3];
      Real grad_s[2][3];
      Real grad_t[3][3];
      Real mixed[3];
      for (int power = 0; power < 2; ++power) {
        cross(of.ds[power], of.dt, grad_r[power]);
        cross(of.dt, of.dr[power], grad_s[power]);
      }
      cross(of.dr[0], of.ds[0], grad_t[0]);
      cross(of.dr[0], of.ds[1], grad_t[1]);
      cross(of.dr[1], of.ds[0], mixed);
      cross(of.dr[1], of.ds[1], grad_t[2]);
      const int column = j * N + i;
      for (int axis = 0; axis < 3; ++axis) {
        grad_t[1][axis] += mixed[axis];
        for (int power = 0; power < 2; ++power) {
          w.grad_r[power][axis][column] = grad_r[power][axis];
          w.grad_s[power][axis][column] = grad_s[power][axis];
        }
        for (int power = 0; power < 3; ++power) w.grad_t[power][axis][column] = grad_t[power][axis];
      }
      for (int power = 0; power < 3; ++power) {
        const Real* const g = grad_t[power];
        w.jacobian[power][column] =
            constants.inverse_weights[column] * (g[0] * of.dt[0] + g[1] * of.dt[1] + g[2] * of.dt[2]);
      }
    }
  }
}

template <class Real, int N>
inline void multiply_by_trilinear(const TrilinearOf<Real>& map, const Constants<Real, N>& constants,
                                  Workspace<Real, N>& w) {
  constexpr int plane = N * N;
  expand<Real, N>(map, constants, w);
  for (int k = 0; k < N; ++k) {
    const Real t = constants.basis.points[k];
    Real* const ur = w.ur + k * plane;
    Real* const us = w.us + k * plane;
    Real* const ut = w.ut + k * plane;
    for (int column = 0; column < plane; ++column) {
      Cofactors<Real> cofactors;
      for (int axis = 0; axis < 3; ++axis) {
        cofactors.row[0][axis] = w.grad_r[0][axis][column] + t * w.grad_r[1][axis][column];
        cofactors.row[1][axis] = w.grad_s[0][axis][column] + t * w.grad_s[1][axis][column];
        cofactors.row[2][axis] =
            w.grad_t[0][axis][column] + t * (w.grad_t[1][axis][column] + t * w.grad_t[2][axis][column]);
      }
      cofactors.jacobian = w.jacobian[0][column] + t * (w.jacobian[1][column] + t * w.jacobian[2][column]);
      multiply_by_factors(cofactors, constants.basis.weights[k], ur[column], us[column], ut[column]);
    }
  }
}

// ---- the whole operator ----

template <class Real, int N>
COMMLENS_FOR_EACH_PROCESSOR void apply_to_elements(const Basis<Real, N>& basis, const PoissonCall<Real>& call) {
  constexpr int plane = N * N;
  constexpr std::size_t nodes = std::size_t{N} * plane;
  const Constants<Real, N> constants(basis);
  Workspace<Real, N> w;
  double energies[plane] = {};  // one sum per column: a single sum would be a chain of dependent additions
  for (std::size_t element = call.elements.first; element < call.elements.last; ++element) {
    gather<Real, N>(call, element * nodes, w.u);
    if (element + 1 < call.elements.last) prefetch<Real, N>(call, element + 1);
    derive<Real, N>(constants, w);
    if (call.factors != nullptr) {
      multiply_by_stored<Real, N>(call.factors + 6 * element * nodes, w);
    } else {
      multiply_by_trilinear<Real, N>(call.maps[element], constants, w);
    }
    derive_transposed<Real, N>(constants, w);
    if (call.energy != nullptr) {
      for (int k = 0; k < N; ++k) {
        for (int column = 0; column < plane; ++column) {
          energies[column] += static_cast<double>(w.u[k * plane + column]) * w.result[k * plane + column];
        }
      }
    }
    scatter<Real, N>(call, element * nodes, w.result);
  }
  if (call.energy == nullptr) return;
  for (const double of_column : energies) *call.energy += of_column;
}

}  // namespace

template <class Real>
void apply_on_host(const Gll& gll, const PoissonCall<Real>& call, device::Stream& stream) {
  with_nodes(static_cast<int>(gll.points.size()), [&](auto n) {
    const Basis<Real, decltype(n)::value> basis(gll);
    stream.enqueue([basis, call] { apply_to_elements<Real, decltype(n)::value>(basis, call); });
  });
}

template void apply_on_host(const Gll&, const PoissonCall<double>&, device::Stream&);
template void apply_on_host(const Gll&, const PoissonCall<float>&, device::Stream&);

}  // namespace commlens::sem

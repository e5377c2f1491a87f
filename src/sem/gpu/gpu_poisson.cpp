// The operator on a GPU. A block computes one element at a time (or several small ones), a thread one column of it: the
// nodes (i, j, 0 …).
//
// Derivatives along a column are computed in registers. For the other two directions shared memory holds two copies of
// the element: each thread reads a line along r from the one and a line along s from the other, and replaces the values
// by their derivatives. So each node is read and written once per direction, not N times. Rows are padded to odd
// lengths to avoid bank conflicts. The derivative matrix is a kernel argument, so that it is in constant memory.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/gpu/occupancy.hpp"
#include "sem/gpu/elements.hpp"

namespace commlens::sem {

namespace {

template <class Real, int N>
struct Layout {
  static constexpr int columns = N * N;
  static constexpr int row =
      N % 2 == 1 || N == 16 ? N : N + 1;  // N = 16 with padding would exceed 64 KiB of an AMD GPU
  static constexpr int plane = row * N;
  static constexpr int field = plane * N;
  static constexpr int elements = columns < 64 ? 64 / columns : 1;
  static constexpr int threads = (elements * columns + 31) / 32 * 32;
  /// Blocks per multiprocessor that its registers must suffice for.
  static constexpr int at_once = N <= 8 ? (sizeof(Real) == 8 ? 8 : 10) * 64 / threads : 0;
  static constexpr int map_terms = 24;
  static constexpr std::size_t shared_bytes = sizeof(Real) * (2 * field + map_terms) * elements;
};

/// Replaces a line of N values, `stride` apart, by D or D^T times the line.
template <bool transposed, class Real, int N>
__device__ inline void derive(const Basis<Real, N>& basis, Real* line, int stride) {
  Real value[N];
#pragma unroll
  for (int m = 0; m < N; ++m) value[m] = line[m * stride];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    Real sum = 0;
#pragma unroll
    for (int m = 0; m < N; ++m) sum += (transposed ? basis.derivative[m][i] : basis.derivative[i][m]) * value[m];
    line[i * stride] = sum;
  }
}

/// A thread's input: its column, and its share of the element's map. It is loaded while the element before is computed,
/// to hide the latency of memory: occupancy is low because of the registers.
template <class Real, int N, Geometry geometry, Storage storage>
struct Column {
  static constexpr int map_terms = Layout<Real, N>::map_terms;
  static constexpr int shares = (map_terms + Layout<Real, N>::columns - 1) / Layout<Real, N>::columns;

  std::uint32_t unknown[N];
  Real u[N];
  Real map[shares];

  __device__ void fetch_unknowns(const PoissonCall<Real>& call, std::size_t first_node) {
    if constexpr (storage == Storage::unique) {
#pragma unroll
      for (int k = 0; k < N; ++k) unknown[k] = call.unknowns[first_node + k * Layout<Real, N>::columns];
    }
  }

  /// After fetch_unknowns().
  __device__ void fetch(const PoissonCall<Real>& call, std::size_t first_node, std::size_t element, int column) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      if constexpr (storage == Storage::element) {
        u[k] = call.input[first_node + k * Layout<Real, N>::columns];
      } else {
        u[k] = read_unknown(call.input, unknown[k]);
      }
    }
    if constexpr (geometry == Geometry::trilinear) {
      const Real* terms = &call.maps[element].c[0][0];
#pragma unroll
      for (int share = 0; share < shares; ++share) {
        const int term = column + share * Layout<Real, N>::columns;
        if (term < map_terms) map[share] = terms[term];
      }
    }
  }

  __device__ void put_map(TrilinearOf<Real>& shared, int column) const {
    if constexpr (geometry == Geometry::trilinear) {
#pragma unroll
      for (int share = 0; share < shares; ++share) {
        const int term = column + share * Layout<Real, N>::columns;
        if (term < map_terms) (&shared.c[0][0])[term] = map[share];
      }
    }
  }

  __device__ void write(const PoissonCall<Real>& call, std::size_t node, int k, Real value) const {
    if constexpr (storage == Storage::element) {
      call.output[node] = value;
    } else {
      write_unknown(call.output, unknown[k], value, call.subtract);
    }
  }
};

/// Multiplies the derivatives in a column by G. Returns their inner product with the result: the column's energy.
template <Geometry geometry, class Real, int N>
__device__ inline double multiply_column(const PoissonCall<Real>& call, const Basis<Real, N>& basis,
                                         const TrilinearOf<Real>& map, std::size_t first_factor, int i, int j,
                                         Real* along_r, Real* along_s, Real* ut) {
  using Of = Layout<Real, N>;
  const ColumnOfMap<Real> column_of_map(map, basis.points[i], basis.points[j]);
  const Real weight = basis.weights[i] * basis.weights[j];
  double energy = 0;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    const Real derivatives[3] = {along_r[Of::plane * k], along_s[Of::plane * k], ut[k]};
    Real ur = derivatives[0];
    Real us = derivatives[1];
    if constexpr (geometry == Geometry::trilinear) {
      multiply_by_factors(column_of_map.at(basis.points[k]), weight * basis.weights[k], ur, us, ut[k]);
    } else {
      Real g[6];
#pragma unroll
      for (int term = 0; term < 6; ++term) g[term] = call.factors[first_factor + (term * N + k) * Of::columns];
      multiply_by_factors(g, ur, us, ut[k]);
    }
    energy += derivatives[0] * ur + derivatives[1] * us + derivatives[2] * ut[k];
    along_r[Of::plane * k] = ur;
    along_s[Of::plane * k] = us;
  }
  return energy;
}

template <class Real, int N, Geometry geometry, Storage storage>
__global__ void gpuLaunchBounds((Layout<Real, N>::threads), (Layout<Real, N>::at_once))
    apply_kernel(const PoissonCall<Real> call, const Basis<Real, N> basis) {
  using Of = Layout<Real, N>;
  extern __shared__ double words[];
  Real* const shared = reinterpret_cast<Real*>(words);
  const int slot = static_cast<int>(threadIdx.x) / Of::columns;
  const int column = static_cast<int>(threadIdx.x) % Of::columns;
  const int i = column % N;
  const int j = column / N;
  Real* const field_r = shared + slot * (2 * Of::field + Of::map_terms);
  Real* const field_s = field_r + Of::field;
  auto& map = *reinterpret_cast<TrilinearOf<Real>*>(field_s + Of::field);
  Real* const along_r = field_r + i + Of::row * j;
  Real* const along_s = field_s + i + Of::row * j;
  Real* const line_r = field_r + Of::row * i + Of::plane * j;  // when a thread has a line, (i, j) are its (j, k)
  Real* const line_s = field_s + i + Of::plane * j;            // and its (i, k)
  const auto first_node = [&](std::size_t element) { return element * N * Of::columns + column; };
  const auto element_of = [&](std::size_t place) { return element_at(call.elements, place); };
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * Of::elements;
  double energy = 0;

  std::size_t place = call.elements.first + static_cast<std::size_t>(blockIdx.x) * Of::elements + slot;
  bool active = slot < Of::elements && place < call.elements.last;
  std::size_t element = element_of(place);
  Column<Real, N, geometry, storage> now;
  if (active) now.fetch_unknowns(call, first_node(element));
  device::gpu::wait_for_previous_kernel();
  if (active) now.fetch(call, first_node(element), element, column);
  for (std::size_t begin = place - slot; begin < call.elements.last; begin += step) {
    place += step;
    const std::size_t next_element = element_of(place);
    const bool next_active = slot < Of::elements && place < call.elements.last;
    Column<Real, N, geometry, storage> next;
    Real ut[N];
    if (active) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        along_r[Of::plane * k] = now.u[k];
        along_s[Of::plane * k] = now.u[k];
        ut[k] = 0;
#pragma unroll
        for (int m = 0; m < N; ++m) ut[k] += basis.derivative[k][m] * now.u[m];
      }
      now.put_map(map, column);
    }
    if (next_active) next.fetch_unknowns(call, first_node(next_element));
    __syncthreads();
    if (active) {
      derive<false>(basis, line_r, 1);
      derive<false>(basis, line_s, Of::row);
    }
    __syncthreads();
    if (active) {
      energy += multiply_column<geometry>(call, basis, map, 6 * element * N * Of::columns + column, i, j, along_r,
                                          along_s, ut);
    }
    if (next_active) next.fetch(call, first_node(next_element), next_element, column);
    __syncthreads();
    if (active) {
      derive<true>(basis, line_r, 1);
      derive<true>(basis, line_s, Of::row);
    }
    __syncthreads();
    if (active) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        Real sum = along_r[Of::plane * k] + along_s[Of::plane * k];
#pragma unroll
        for (int m = 0; m < N; ++m) sum += basis.derivative[m][k] * ut[m];
        now.write(call, first_node(element) + k * Of::columns, k, sum);
      }
    }
    now = next;
    element = next_element;
    active = next_active;
  }
  if (call.energy == nullptr) return;
  device::gpu::add_up_unordered(energy, call.energy);
}

template <int N, Geometry geometry, Storage storage, class Real>
void launch_kernel(const Gll& gll, const PoissonCall<Real>& call, gpuStream_t stream) {
  using Of = Layout<Real, N>;
  const auto kernel = apply_kernel<Real, N, geometry, storage>;
  static const unsigned resident = device::gpu::resident_blocks(kernel, Of::threads, Of::shared_bytes);
  const unsigned blocks = blocks_over(call.elements, Of::elements, resident);
  device::gpu::launch_dependent<apply_kernel<Real, N, geometry, storage>>(blocks, Of::threads, Of::shared_bytes, stream,
                                                                          call, Basis<Real, N>(gll));
}

}  // namespace

template <class Real>
void apply_on_gpu(const Gll& gll, const PoissonCall<Real>& call, device::Stream& stream) {
  if (apply_on_tensor_cores(gll, call, stream)) return;
  auto* native = static_cast<gpuStream_t>(stream.native());
  with_nodes(static_cast<int>(gll.points.size()), [&](auto nodes) {
    constexpr int n = decltype(nodes)::value;
    const bool stored = call.factors != nullptr;
    const bool unique = call.unknowns != nullptr;
    if (stored && unique) return launch_kernel<n, Geometry::stored, Storage::unique>(gll, call, native);
    if (unique) return launch_kernel<n, Geometry::trilinear, Storage::unique>(gll, call, native);
    if constexpr (std::is_same_v<Real, double>) {
      if (stored) return launch_kernel<n, Geometry::stored, Storage::element>(gll, call, native);
      launch_kernel<n, Geometry::trilinear, Storage::element>(gll, call, native);
    }
  });
}

template void apply_on_gpu(const Gll&, const PoissonCall<double>&, device::Stream&);
template void apply_on_gpu(const Gll&, const PoissonCall<float>&, device::Stream&);

}  // namespace commlens::sem

// The operator of order 7 on FP64 tensor cores, with geometry that is computed: device code.
//
// An element has 8 slabs of constant t with 8 x 8 nodes, the shape of a tensor core's matrices. Lane 4 g + l holds two
// nodes of each slab: those with i = l and i = l + 4, where j = g / 2 + 4 (g % 2). If i and j are numbered in this way
// along the rows and columns of matrices, a slab that is the result of a product is at the same time, without moving
// anything, the left factor of the next one. So derivatives along r (slab x D^T) need registers only. For those along s
// (D x slab) the slab is the right factor, of which a lane needs what another one holds: it goes through shared memory.
// A lane has its two columns of the element for itself, and computes derivatives along t with ordinary instructions.
//
// An element is computed by one warp, or by two. With two, the second one has the upper half of the slabs and sees the
// element mirrored in t: as D[7 - k][7 - m] = -D[k][m], both then have the same code, with the same constants.
#pragma once

#include "device/gpu/tensor_cores.hpp"
#include "sem/gpu/elements.hpp"

namespace commlens::sem::tensor {

using device::gpu::add_product;
using device::gpu::get;
using device::gpu::get_pair;
using device::gpu::Pair;
using device::gpu::put;

inline constexpr int points = 8;
inline constexpr int slab = points * points;
using Constants = Basis<double, points>;

template <int Warps>
struct Layout {
  static constexpr int slabs = points / Warps;         ///< of a warp
  static constexpr int elements = Warps == 1 ? 4 : 1;  ///< of a block
  static constexpr int threads = 32 * Warps * elements;
  /// Blocks per multiprocessor that its registers must suffice for.
  static constexpr int at_once = Warps == 1 ? 3 : 8;
};

/// Of a warp.
template <int Warps>
struct Shared {
  static constexpr int slabs = Layout<Warps>::slabs;

  alignas(16) double u[slabs][slab];
  alignas(16) double along_s[slabs][slab];
  alignas(16) double along_t[Warps == 1 ? 1 : slabs][slab];  ///< for the other warp
  alignas(16) double map[8][3];
  /// Of each slab: dx/dr where s = 0, dx/ds where r = 0, and what both grow by with s and with r.
  alignas(16) double of_map[slabs][10];
};

/// What a lane keeps for all elements.
struct Lane {
  int index;
  int node[2];    ///< of a slab
  int place;      ///< of its pair, in a slab in shared memory
  int across[2];  ///< of the nodes whose i is its j, and whose j its i are
  double row[2];  ///< of D, at its j and i
  double column[2];
  double r[2];
  double s;
  double weight[2];

  /// `side` is -1 for a warp that sees elements mirrored.
  __device__ Lane(const Constants& basis, int lane, double side) : index(lane) {
    const int group = lane / 4;
    const int j = group / 2 + 4 * (group % 2);
    place = place_of(j, 2 * (lane % 4));
    s = basis.points[j];
    for (int c = 0; c < 2; ++c) {
      const int i = lane % 4 + 4 * c;
      node[c] = i + points * j;
      across[c] = place_of(i, group);
      row[c] = basis.derivative[j][i];
      column[c] = basis.derivative[i][j];
      r[c] = basis.points[i];
      weight[c] = side * basis.weights[i] * basis.weights[j];
    }
  }

  /// Of row j, at a column of the matrix. Rows are ordered and rotated such that neither 8 lanes that write pairs nor
  /// 16 lanes that read values meet in a bank.
  static __device__ int place_of(int j, int column) { return points * (j ^ (j / 4)) + (column ^ (2 * (j & 2))); }
};

/// Where a lane's nodes are in the memory of the element.
template <int Warps>
struct Slabs {
  std::size_t first;
  int stride;

  __device__ Slabs(std::size_t element, int half)
      : first(element * points * slab + (half == 0 ? 0 : (points - 1) * slab)),
        stride(Warps == 1 || half == 0 ? slab : -slab) {}
  [[nodiscard]] __device__ std::size_t node(const Lane& lane, int k, int c) const {
    return first + k * stride + lane.node[c];
  }
};

/// The numbers of a lane's unknowns, and its share of the element's map: loaded while the element before is computed.
template <int Warps, Storage storage>
struct Numbers {
  std::uint32_t unknown[Layout<Warps>::slabs][2];
  double term;

  __device__ void fetch_unknowns(const PoissonCall<double>& call, const Slabs<Warps>& slabs, const Lane& lane) {
    if constexpr (storage == Storage::unique) {
#pragma unroll
      for (int k = 0; k < Layout<Warps>::slabs; ++k) {
        for (int c = 0; c < 2; ++c) unknown[k][c] = call.unknowns[slabs.node(lane, k, c)];
      }
    }
  }
  __device__ void fetch(const PoissonCall<double>& call, std::size_t element, int half, const Lane& lane) {
    fetch_unknowns(call, Slabs<Warps>(element, half), lane);
    if (lane.index < 24) term = (&call.maps[element].c[0][0])[lane.index];
  }
};

/// Waits for what the warps of an element have written to shared memory.
template <int Warps>
__device__ inline void wait_for_element() {
  if constexpr (Warps == 1) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

/// A warp's part of an element.
template <int Warps, Storage storage>
struct Part {
  static constexpr int slabs = Layout<Warps>::slabs;

  const PoissonCall<double>& call;
  const Constants& basis;
  const Lane& lane;
  Shared<Warps>& own;
  const Shared<Warps>& other;  ///< of the other warp, if there is one
  double side;

  Pair u[slabs];  ///< the input; then its image, slab by slab
  Pair ut[slabs];
  double dt[2][3];

  __device__ void read(const Slabs<Warps>& nodes, const Numbers<Warps, storage>& numbers) {
#pragma unroll
    for (int k = 0; k < slabs; ++k) {
      for (int c = 0; c < 2; ++c) {
        u[k].of[c] = storage == Storage::unique ? read_unknown(call.input, numbers.unknown[k][c])
                                                : call.input[nodes.node(lane, k, c)];
      }
    }
    if (lane.index < 24) (&own.map[0][0])[lane.index] = numbers.term;
#pragma unroll
    for (int k = 0; k < slabs; ++k) put(own.u[k] + lane.place, u[k]);
  }

  /// Of the map what depends on t alone, for the warp, and what does not depend on t, for this lane.
  __device__ void expand_map() {
    const auto& c = own.map;
    if (lane.index < 3 * slabs) {
      const int k = lane.index % slabs;
      const int axis = lane.index / slabs;
      const double t = side * basis.points[k];
      own.of_map[k][axis] = c[1][axis] + c[5][axis] * t;
      own.of_map[k][3 + axis] = c[2][axis] + c[6][axis] * t;
      own.of_map[k][6 + axis] = c[4][axis] + c[7][axis] * t;
    }
    for (int at = 0; at < 2; ++at) {
      for (int axis = 0; axis < 3; ++axis) {
        dt[at][axis] = side * (c[3][axis] + c[5][axis] * lane.r[at] + (c[6][axis] + c[7][axis] * lane.r[at]) * lane.s);
      }
    }
  }

  __device__ void derive_along_t() {
#pragma unroll
    for (int k = 0; k < slabs; ++k) ut[k] = {};
#pragma unroll
    for (int m = 0; m < slabs; ++m) {
      const Pair mirrored = Warps == 1 ? Pair{} : get_pair(other.u[m] + lane.place);
#pragma unroll
      for (int k = 0; k < slabs; ++k) {
        for (int c = 0; c < 2; ++c) {
          ut[k].of[c] += basis.derivative[k][m] * u[m].of[c];
          if constexpr (Warps == 2) ut[k].of[c] += basis.derivative[k][points - 1 - m] * mirrored.of[c];
        }
      }
    }
  }

  /// D^T G D of the slab, but for the derivatives along s and t of G D.
  __device__ void compute_slab(int k, double& energy) {
    Pair ur{};
    Pair us{};
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      add_product(u[k].of[c], lane.row[c], ur);
      add_product(lane.row[c], get(own.u[k] + lane.across[c]), us);
    }
    multiply_by_geometry(k, ur, us, energy);
    u[k] = {};
#pragma unroll
    for (int c = 0; c < 2; ++c) add_product(ur.of[c], lane.column[c], u[k]);
    put(own.along_s[k] + lane.place, us);
    if constexpr (Warps == 2) put(own.along_t[k] + lane.place, ut[k]);
  }

  __device__ void multiply_by_geometry(int k, Pair& ur, Pair& us, double& energy) {
    double of_map[10];
#pragma unroll
    for (int at = 0; at < 10; at += 2) {
      const Pair pair = get_pair(own.of_map[k] + at);
      of_map[at] = pair.of[0];
      of_map[at + 1] = pair.of[1];
    }
    double xr[3];
    for (int axis = 0; axis < 3; ++axis) xr[axis] = of_map[axis] + of_map[6 + axis] * lane.s;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      double xs[3];
      for (int axis = 0; axis < 3; ++axis) xs[axis] = of_map[3 + axis] + of_map[6 + axis] * lane.r[c];
      const double derivatives[3] = {ur.of[c], us.of[c], ut[k].of[c]};
      multiply_by_factors(cofactors_of(xr, xs, dt[c]), lane.weight[c] * basis.weights[k], ur.of[c], us.of[c],
                          ut[k].of[c]);
      energy += derivatives[0] * ur.of[c];
      energy += derivatives[1] * us.of[c];
      energy += derivatives[2] * ut[k].of[c];
    }
  }

  __device__ void add_along_s_and_t() {
#pragma unroll
    for (int k = 0; k < slabs; ++k) {
      for (int c = 0; c < 2; ++c) add_product(lane.column[c], get(own.along_s[k] + lane.across[c]), u[k]);
    }
#pragma unroll
    for (int m = 0; m < slabs; ++m) {
      const Pair mirrored = Warps == 1 ? Pair{} : get_pair(other.along_t[m] + lane.place);
#pragma unroll
      for (int k = 0; k < slabs; ++k) {
        for (int c = 0; c < 2; ++c) {
          u[k].of[c] += basis.derivative[m][k] * ut[m].of[c];
          if constexpr (Warps == 2) u[k].of[c] += basis.derivative[m][points - 1 - k] * mirrored.of[c];
        }
      }
    }
  }

  __device__ void write(const Slabs<Warps>& nodes, const Numbers<Warps, storage>& numbers) const {
#pragma unroll
    for (int k = 0; k < slabs; ++k) {
      for (int c = 0; c < 2; ++c) {
        if constexpr (storage == Storage::unique) {
          write_unknown(call.output, numbers.unknown[k][c], u[k].of[c]);
        } else {
          call.output[nodes.node(lane, k, c)] = u[k].of[c];
        }
      }
    }
  }
};

template <int Warps, Storage storage>
__global__ void gpuLaunchBounds((Layout<Warps>::threads), (Layout<Warps>::at_once))
    apply_kernel(const PoissonCall<double> call, const Constants basis) {
  using Of = Layout<Warps>;
  __shared__ Shared<Warps> shared[Of::elements * Warps];
  const int warp = device::gpu::warp_of_block();
  const int half = warp % Warps;
  const double side = half == 0 ? 1 : -1;
  const Lane lane(basis, static_cast<int>(threadIdx.x) % 32, side);
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * Of::elements;
  std::size_t place = call.elements.first + static_cast<std::size_t>(blockIdx.x) * Of::elements + warp / Warps;
  Part<Warps, storage> part{call, basis, lane, shared[warp], shared[warp - half + Warps - 1 - half], side};
  Numbers<Warps, storage> numbers;
  if (place < call.elements.last) numbers.fetch(call, element_at(call.elements, place), half, lane);
  double energy = 0;
  for (; place < call.elements.last; place += step) {
    const Slabs<Warps> nodes(element_at(call.elements, place), half);
    part.read(nodes, numbers);
    __syncwarp();
    part.expand_map();
    wait_for_element<Warps>();
    part.derive_along_t();
#pragma unroll
    for (int k = 0; k < Of::slabs; ++k) part.compute_slab(k, energy);
    wait_for_element<Warps>();
    Numbers<Warps, storage> again;  // rather than to keep them in registers
    again.fetch_unknowns(call, nodes, lane);
    if (place + step < call.elements.last) {
      numbers.fetch(call, element_at(call.elements, place + step), half, lane);
    }
    part.add_along_s_and_t();
    part.write(nodes, again);
  }
  if (call.energy == nullptr) return;
  device::gpu::add_up(energy, static_cast<device::gpu::SumScratch*>(call.scratch), call.energy, call.add_energy);
}

}  // namespace commlens::sem::tensor

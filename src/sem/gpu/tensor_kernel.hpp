// The operator of order 7 on FP64 tensor cores, with geometry that is computed: device code.
//
// An element has 8 slabs of constant t with 8 x 8 nodes, the shape of a tensor core's matrices. Lane 4 g + l holds two
// nodes of each slab: those with i = l and i = l + 4, where j = g / 2 + 4 (g % 2). If i and j are numbered in this way
// along the rows and columns of matrices, a slab that is the result of a product is at the same time, without moving
// anything, the left factor of the next one. So derivatives along r (slab x D^T) need registers only. For those along s
// (D x slab) the slab is the right factor, of which a lane needs what another one holds: it goes through shared memory.
// A lane has its two columns of the element for itself, and computes derivatives along t with ordinary instructions.
//
// The input of the next element is copied to shared memory while an element is computed, without registers: the numbers
// of its unknowns first, and then, by these numbers, their values.
//
// An element is computed by the two warps of a block. The second one has the upper half of the slabs and sees the
// element mirrored in t: as D[7 - k][7 - m] = -D[k][m], both then have the same code, with the same constants.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/gpu/tensor_cores.hpp"
#include "sem/gpu/elements.hpp"

namespace commlens::sem::tensor {

using device::gpu::add_product;
using device::gpu::copy;
using device::gpu::end_copies;
using device::gpu::get;
using device::gpu::get_pair;
using device::gpu::Pair;
using device::gpu::put;
using device::gpu::wait_for_copies;

inline constexpr int points = 8;
inline constexpr int slab = points * points;
using Constants = Basis<double, points>;

inline constexpr int warps = 2;               ///< of a block, which computes one element at a time
inline constexpr int slabs = points / warps;  ///< of a warp
inline constexpr int threads = 32 * warps;
/// Blocks per multiprocessor that its registers must suffice for; on an H100 its shared memory does, too.
inline constexpr int at_once = 8;

/// What is copied for an element of a warp, while the one before is computed.
struct Input {
  alignas(16) double u[slabs][slab];
  alignas(16) double map[8][3];
  alignas(16) std::uint32_t unknowns[slabs][slab];
};

/// The basis in shared memory, for reads at places that differ by lane: constant memory would serialize them.
struct Lookup {
  double derivative[points][points];
  double weights[points];
  double points_of[points];

  /// By all threads of the block.
  __device__ void fill(const Constants& basis) {
    const int j = static_cast<int>(threadIdx.x) / points;
    const int i = static_cast<int>(threadIdx.x) % points;
    derivative[j][i] = basis.derivative[j][i];
    if (j == 0) {
      weights[i] = basis.weights[i];
      points_of[i] = basis.points[i];
    }
    __syncthreads();
  }
};
static_assert(threads == slab);

/// Of a warp.
struct Shared {
  Input inputs[2];  ///< of this element and of the next one
  union {
    alignas(16) double along_s[slabs][slab];
    Lookup lookup;  ///< of the first warp: for lanes as they are made, before the first barrier of the loop
  };
  alignas(16) double along_t[slabs][slab];  ///< for the other warp
  /// Of each slab: dx/dr where s = 0, dx/ds where r = 0, and what both grow by with s and with r.
  alignas(16) double of_map[slabs][10];
};

/// What a lane keeps for all elements.
struct Lane {
  int index;
  int node[2];    ///< of a slab
  int number[2];  ///< of a slab: where the numbers of its unknowns are in shared memory
  int place;      ///< of its pair, likewise
  int across[2];  ///< of the nodes whose i is its j, and whose j its i are
  double row[2];  ///< of D, at its j and i
  double column[2];
  double r[2];
  double s;
  double weight[2];

  /// `side` is -1 for a warp that sees elements mirrored.
  __device__ Lane(const Lookup& basis, int lane, double side) : index(lane) {
    const int group = lane / 4;
    const int j = group / 2 + 4 * (group % 2);
    place = place_of(j, 2 * (lane % 4));
    s = basis.points_of[j];
    for (int c = 0; c < 2; ++c) {
      const int i = lane % 4 + 4 * c;
      node[c] = i + points * j;
      number[c] = place_of_number(j, i);
      across[c] = place_of(i, group);
      row[c] = basis.derivative[j][i];
      column[c] = basis.derivative[i][j];
      r[c] = basis.points_of[i];
      weight[c] = side * basis.weights[i] * basis.weights[j];
    }
  }

  /// Of row j, at a column of the matrix. Rows are ordered and rotated such that neither 8 lanes that write pairs nor
  /// 16 lanes that read values meet in a bank.
  static __device__ int place_of(int j, int column) { return points * (j ^ (j / 4)) + (column ^ (2 * (j & 2))); }
  /// Of the number of a node's unknown: four at a time are copied, and here 32 lanes meet in no bank.
  static __device__ int place_of_number(int j, int i) { return 4 * j + i % 4 + 32 * (i / 4); }
};

/// The warp's slabs in memory: the second warp of an element begins with the last one.
struct Nodes {
  std::size_t first;
  int stride;

  __device__ Nodes(std::size_t element, int half)
      : first((element * points + (half == 0 ? 0 : points - 1)) * slab), stride(half == 0 ? slab : -slab) {}
  [[nodiscard]] __device__ std::size_t of(int k) const { return first + k * stride; }
};

/// A warp's part of one element after the other.
template <Storage storage>
struct Part {
  const PoissonCall<double>& call;
  const Constants& basis;
  const Lane& lane;
  Shared& shared;
  const Shared& other;  ///< of the other warp
  int half;
  double side;

  int turn = 0;   ///< which of the inputs is this element's
  Pair u[slabs];  ///< the input; then its image, slab by slab
  Pair ut[slabs];
  double dt[2][3];

  [[nodiscard]] __device__ Input& input() { return shared.inputs[turn]; }
  [[nodiscard]] __device__ const Input& input() const { return shared.inputs[turn]; }

  /// Copies four numbers at a time, those of any lanes.
  __device__ void copy_unknowns(std::size_t element, Input& to) {
    if constexpr (storage == Storage::unique) {
      const Nodes nodes(element, half);
      const int four = lane.index % 16;
      const int place = Lane::place_of_number(four / 2, 4 * (four % 2));
#pragma unroll
      for (int pair = 0; pair < slabs / 2; ++pair) {
        const int k = 2 * pair + lane.index / 16;
        copy<16>(to.unknowns[k] + place, call.unknowns + nodes.of(k) + 4 * four);
      }
    }
    end_copies();
  }

  /// All at once, as nothing is reordered with copies and additions.
  __device__ void read_unknowns(const Input& from, std::uint32_t (&unknowns)[slabs][2]) const {
    if constexpr (storage == Storage::unique) {
#pragma unroll
      for (int k = 0; k < slabs; ++k) {
        for (int c = 0; c < 2; ++c) unknowns[k][c] = get(from.unknowns[k] + lane.number[c]);
      }
    }
  }

  /// For itself, but of the map any terms. The numbers of the unknowns must be there.
  __device__ void copy_input(std::size_t element, Input& to) {
    const Nodes nodes(element, half);
    std::uint32_t unknowns[slabs][2];
    read_unknowns(to, unknowns);
#pragma unroll
    for (int k = 0; k < slabs; ++k) {
      for (int c = 0; c < 2; ++c) {
        double* const place = to.u[k] + lane.place + c;
        if constexpr (storage == Storage::unique) {
          const bool fixed = unknowns[k][c] == Numbering::fixed;
          copy<8>(place, call.input + (fixed ? 0 : place_of(unknowns[k][c])), fixed ? 0 : 8);
        } else {
          copy<8>(place, call.input + nodes.of(k) + lane.node[c]);
        }
      }
    }
    if (lane.index < 12) copy<16>(&to.map[0][0] + 2 * lane.index, &call.maps[element].c[0][0] + 2 * lane.index);
    end_copies();
  }

  __device__ void read() {
#pragma unroll
    for (int k = 0; k < slabs; ++k) u[k] = get_pair(input().u[k] + lane.place);
  }

  /// Of the map what depends on t alone, for the warp, and what does not depend on t, for this lane.
  __device__ void expand_map() {
    const auto& c = input().map;
    if (lane.index < 3 * slabs) {
      const int k = lane.index % slabs;
      const int axis = lane.index / slabs;
      const double t = side * basis.points[k];
      shared.of_map[k][axis] = c[1][axis] + c[5][axis] * t;
      shared.of_map[k][3 + axis] = c[2][axis] + c[6][axis] * t;
      shared.of_map[k][6 + axis] = c[4][axis] + c[7][axis] * t;
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
      const Pair mirrored = get_pair(other.inputs[turn].u[m] + lane.place);
#pragma unroll
      for (int k = 0; k < slabs; ++k) {
        for (int c = 0; c < 2; ++c) {
          ut[k].of[c] += basis.derivative[k][m] * u[m].of[c];
          ut[k].of[c] += basis.derivative[k][points - 1 - m] * mirrored.of[c];
        }
      }
    }
  }

  /// D^T G D of the slab, but for the derivatives along s and t of G D.
  __device__ void compute_slab(int k) {
    Pair ur{};
    Pair us{};
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      add_product(u[k].of[c], lane.row[c], ur);
      add_product(lane.row[c], get(input().u[k] + lane.across[c]), us);
    }
    multiply_by_geometry(k, ur, us);
    u[k] = {};
#pragma unroll
    for (int c = 0; c < 2; ++c) add_product(ur.of[c], lane.column[c], u[k]);
    put(shared.along_s[k] + lane.place, us);
    put(shared.along_t[k] + lane.place, ut[k]);
  }

  __device__ void multiply_by_geometry(int k, Pair& ur, Pair& us) {
    double of_map[10];
#pragma unroll
    for (int at = 0; at < 10; at += 2) {
      const Pair pair = get_pair(shared.of_map[k] + at);
      of_map[at] = pair.of[0];
      of_map[at + 1] = pair.of[1];
    }
    double xr[3];
    for (int axis = 0; axis < 3; ++axis) xr[axis] = of_map[axis] + of_map[6 + axis] * lane.s;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      double xs[3];
      for (int axis = 0; axis < 3; ++axis) xs[axis] = of_map[3 + axis] + of_map[6 + axis] * lane.r[c];
      multiply_by_factors(cofactors_of(xr, xs, dt[c]), lane.weight[c] * basis.weights[k], ur.of[c], us.of[c],
                          ut[k].of[c]);
    }
  }

  __device__ void add_along_s_and_t() {
#pragma unroll
    for (int k = 0; k < slabs; ++k) {
      for (int c = 0; c < 2; ++c) add_product(lane.column[c], get(shared.along_s[k] + lane.across[c]), u[k]);
    }
#pragma unroll
    for (int m = 0; m < slabs; ++m) {
      const Pair mirrored = get_pair(other.along_t[m] + lane.place);
#pragma unroll
      for (int k = 0; k < slabs; ++k) {
        for (int c = 0; c < 2; ++c) {
          u[k].of[c] += basis.derivative[m][k] * ut[m].of[c];
          u[k].of[c] += basis.derivative[m][points - 1 - k] * mirrored.of[c];
        }
      }
    }
  }

  /// Returns input . image.
  __device__ double write(std::size_t element) const {
    const Nodes nodes(element, half);
    std::uint32_t unknowns[slabs][2];
    read_unknowns(input(), unknowns);
    double energy = 0;
#pragma unroll
    for (int k = 0; k < slabs; ++k) {
      const Pair before = get_pair(input().u[k] + lane.place);
      for (int c = 0; c < 2; ++c) {
        energy += before.of[c] * u[k].of[c];
        if constexpr (storage == Storage::unique) {
          write_unknown(call.output, unknowns[k][c], u[k].of[c]);
        } else {
          call.output[nodes.of(k) + lane.node[c]] = u[k].of[c];
        }
      }
    }
    return energy;
  }
};

template <Storage storage>
__global__ void gpuLaunchBounds(threads, at_once) apply_kernel(const PoissonCall<double> call, const Constants basis) {
  __shared__ Shared shared[warps];
  const int half = device::gpu::warp_of_block();
  const double side = half == 0 ? 1 : -1;
  shared[0].lookup.fill(basis);
  const Lane lane(shared[0].lookup, static_cast<int>(threadIdx.x) % 32, side);
  const std::size_t step = gridDim.x;
  const std::size_t last = call.elements.last;
  std::size_t place = call.elements.first + blockIdx.x;
  const auto element_of = [&](std::size_t at) { return element_at(call.elements, at); };
  Part<storage> part{call, basis, lane, shared[half], shared[1 - half], half, side};
  if (place < last) part.copy_unknowns(element_of(place), part.shared.inputs[0]);
  device::gpu::wait_for_previous_kernel();
  if (place < last) {
    wait_for_copies<0>();
    __syncwarp();
    part.copy_input(element_of(place), part.shared.inputs[0]);
    if (place + step < last) part.copy_unknowns(element_of(place + step), part.shared.inputs[1]);
  }
  double energy = 0;
  for (; place < last; place += step) {
    const std::size_t next = place + step;
    const std::size_t after_next = next + step;
    next < last ? wait_for_copies<1>() : wait_for_copies<0>();  // not for the numbers of the next one
    __syncwarp();
    part.read();
    part.expand_map();
    __syncthreads();
    part.derive_along_t();
#pragma unroll
    for (int k = 0; k < slabs; ++k) part.compute_slab(k);
    if (next < last) {  // here, where the fewest registers are needed
      wait_for_copies<0>();
      __syncwarp();
      part.copy_input(element_of(next), part.shared.inputs[1 - part.turn]);
    }
    __syncthreads();
    part.add_along_s_and_t();
    energy += part.write(element_of(place));
    __syncwarp();
    if (after_next < last) part.copy_unknowns(element_of(after_next), part.shared.inputs[part.turn]);
    part.turn = 1 - part.turn;
  }
  if (call.energy == nullptr) return;
  device::gpu::add_up_unordered(energy, call.energy);
}

}  // namespace commlens::sem::tensor

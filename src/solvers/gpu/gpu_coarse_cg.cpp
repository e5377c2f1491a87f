// Conjugate gradients on a GPU in one kernel: a thread has a row of the matrix, with its entries and its elements of
// all vectors in registers, from the first step to the last.
//
// A step, of 27 loads and 40 multiply-adds per row, takes as long as all blocks need to synchronize. The iteration of
// Ghysels and Vanroose (Parallel Comput. 40, 2014) synchronizes them once per step: the product with the
// matrix is of a vector that does not depend on the step's sums, so that both are exchanged at the same time. It rounds
// more than the usual one; vectors are in double.
#include <cstddef>
#include <cstdint>

#include "device/gpu/launch.hpp"
#include "device/gpu/occupancy.hpp"
#include "solvers/kernels.hpp"

#if defined(COMMLENS_CUDA)
#include <cooperative_groups.h>
#else
#include <hip/hip_cooperative_groups.h>
#endif

namespace commlens::solvers {

namespace {

constexpr unsigned threads = 128;
constexpr int entries = static_cast<int>(CoarseCgCall::entries);

struct Row {
  std::uint32_t columns[entries];
  float values[entries];

  __device__ Row(const CoarseCgCall& call, std::size_t row) {
#pragma unroll
    for (int entry = 0; entry < entries; ++entry) {
      columns[entry] = row < call.rows ? call.columns[entry * call.rows + row] : 0;
      values[entry] = row < call.rows ? call.values[entry * call.rows + row] : 0;
    }
  }

  __device__ double times(const double* vector) const {
    double sum = 0;
#pragma unroll
    for (int entry = 0; entry < entries; ++entry) sum += static_cast<double>(values[entry]) * vector[columns[entry]];
    return sum;
  }
};

/// This thread's part of the blocks' sums.
__device__ inline void read_parts(const double* of_block, double (&parts)[2]) {
#pragma unroll
  for (int n = 0; n < 2; ++n) parts[n] = device::gpu::part_of_sum(of_block + n * gridDim.x, threadIdx.x, threads);
}

/// The sums of all parts, which all threads of a block get: the same bits in all blocks.
__device__ inline void add_up_parts(const double (&parts)[2], double (&sums)[2]) {
  __shared__ double all[2];
  const double sum = device::gpu::add_up_in_block(parts);
  if (threadIdx.x < 2) all[threadIdx.x] = sum;
  __syncthreads();
  for (int n = 0; n < 2; ++n) sums[n] = all[n];
}

/// x of the owner of a row. With u = D^-1 r, w = A u, m = D^-1 w and n = A m:
///   z = n + beta z, q = m + beta q, s = w + beta s, p = u + beta p,
///   x += alpha p, r -= alpha s, u -= alpha q, w -= alpha z.
/// Ends where what is left is less than the rounding of x.
__global__ void gpuLaunchBounds(threads, 4) coarse_cg_kernel(const CoarseCgCall call) {
  const auto grid = cooperative_groups::this_grid();
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x;
  const bool active = row < call.rows;
  const Row matrix(call, row);
  const double inverse = active ? call.inverse[row] : 0.0F;
  double r = active ? call.b[row] : 0.0F;
  double u = inverse * r;
  if (active) call.exchanged[row] = u;
  grid.sync();
  double w = active ? matrix.times(call.exchanged) : 0.0;
  double x = 0;
  double p = 0;
  double q = 0;
  double s = 0;
  double z = 0;
  double alpha = 0;
  double first = 0;
  double last = 0;
  for (std::size_t step = 0; step < call.steps; ++step) {
    double* const exchanged = call.exchanged + (step + 1) % 2 * call.rows;
    double* const of_block = call.sums + step % 2 * 2 * gridDim.x;
    const double m = inverse * w;
    if (active) exchanged[row] = m;
    const double products[2] = {r * u, w * u};
    const double sum = device::gpu::add_up_in_block(products);
    if (threadIdx.x < 2) of_block[threadIdx.x * gridDim.x + blockIdx.x] = sum;
    grid.sync();
    double parts[2];
    double sums[2];
    read_parts(of_block, parts);
    const double n = active ? matrix.times(exchanged) : 0.0;  // before add_up_parts() waits, so that both reads overlap
    add_up_parts(parts, sums);
    constexpr double rounding = 1.0 / (1 << 24);
    if (step == 0) first = sums[0];
    if (!(sums[0] > rounding * rounding * first)) break;
    const double beta = step > 0 ? sums[0] / last : 0.0;
    const double energy = step > 0 ? sums[1] - beta * sums[0] / alpha : sums[1];
    if (!(energy > 0)) break;
    alpha = sums[0] / energy;
    last = sums[0];
    z = n + beta * z;
    q = m + beta * q;
    s = w + beta * s;
    p = u + beta * p;
    x += alpha * p;
    r -= alpha * s;
    u -= alpha * q;
    w -= alpha * z;
  }
  if (active) call.x[row] = static_cast<float>(x);
}

unsigned blocks_of(std::size_t rows) { return static_cast<unsigned>((rows + threads - 1) / threads); }

}  // namespace

std::size_t coarse_cg_blocks(std::size_t rows) {
  const unsigned resident = device::gpu::resident_blocks(coarse_cg_kernel, threads, 0);
  return blocks_of(rows) <= resident ? blocks_of(rows) : 0;
}

void coarse_cg_on_gpu(const CoarseCgCall& call, device::Stream& stream) {
  CoarseCgCall argument = call;
  void* arguments[] = {&argument};
  GPU_CALL(LaunchCooperativeKernel, reinterpret_cast<const void*>(coarse_cg_kernel), dim3(blocks_of(call.rows)),
           dim3(threads), arguments, 0, static_cast<gpuStream_t>(stream.native()));
}

}  // namespace commlens::solvers

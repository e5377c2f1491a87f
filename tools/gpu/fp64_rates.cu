// Rates of FP64 instructions: products of small matrices (mma.sync) of each shape, fma, and both at once; and
// latencies.
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -o fp64_rates tools/gpu/fp64_rates.cu && ./fp64_rates
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>
enum Kind { m8n8k4, m16n8k4, m16n8k8, m16n8k16, dfma, both, mixed_in_warp };
__device__ void mma884(double* c, double a, double b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a), "d"(b));
}
__device__ void mma1684(double* c, double a, double b) {
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a), "d"(a), "d"(b));
}
__device__ void mma1688(double* c, double a, double b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%4,%5},{%6,%6},{%0,%1,%2,%3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a), "d"(a), "d"(b));
}
__device__ void mma16816(double* c, double a, double b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 "
      "{%0,%1,%2,%3},{%4,%4,%4,%4,%4,%4,%4,%4},{%5,%5,%5,%5},{%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a), "d"(b));
}
constexpr int loops = 512;
template <int kind, int chains>
__global__ void run(double* out, long long* cycles, double a, double b) {
  double c[chains][4] = {};
  __syncthreads();
  const long long begin = clock64();
  const bool matrix = kind == both ? (threadIdx.x / 128) % 2 == 0 : kind < dfma;
  for (int n = 0; n < loops; ++n) {
#pragma unroll
    for (int i = 0; i < chains; ++i) {
      if constexpr (kind == m8n8k4) mma884(c[i], a, b);
      if constexpr (kind == m16n8k4) mma1684(c[i], a, b);
      if constexpr (kind == m16n8k8) mma1688(c[i], a, b);
      if constexpr (kind == m16n8k16) mma16816(c[i], a, b);
      if constexpr (kind == dfma) c[i][0] = fma(c[i][0], a, b);
      if constexpr (kind == both) {
        if (matrix)
          mma884(c[i], a, b);
        else {
          c[i][0] = fma(c[i][0], a, b);
          c[i][1] = fma(c[i][1], a, b);
          c[i][2] = fma(c[i][2], a, b);
          c[i][3] = fma(c[i][3], a, b);
        }
      }
      if constexpr (kind == mixed_in_warp) {
        mma884(c[i], a, b);
        c[i][2] = fma(c[i][2], a, b);
        c[i][3] = fma(c[i][3], a, b);
      }
    }
  }
  __syncthreads();
  const long long end = clock64();
  double sum = 0;
  for (int i = 0; i < chains; ++i)
    for (int k = 0; k < 4; ++k) sum += c[i][k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  if (threadIdx.x == 0) cycles[blockIdx.x] = end - begin;
}
template <int kind, int chains>
double measure(int warps) {
  static double* out = nullptr;
  static long long* cycles = nullptr;
  if (!out) {
    cudaMalloc(&out, 1 << 22);
    cudaMalloc(&cycles, 4096);
  }
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  std::vector<long long> host(p.multiProcessorCount);
  double least = 1e30;
  for (int turn = 0; turn < 3; ++turn) {
    run<kind, chains><<<p.multiProcessorCount, warps * 32>>>(out, cycles, 1.0, 0.0);
    if (cudaDeviceSynchronize() != cudaSuccess) {
      std::printf("%s\n", cudaGetErrorString(cudaGetLastError()));
      return 0;
    }
    cudaMemcpy(host.data(), cycles, 8 * host.size(), cudaMemcpyDefault);
    least = std::min(least, double(*std::max_element(host.begin(), host.end())));
  }
  return least;
}
int main() {
  const char* names[] = {"DMMA m8n8k4", "DMMA m16n8k4", "DMMA m16n8k8", "DMMA m16n8k16", "DFMA"};
  const int fma[] = {256, 512, 1024, 2048, 32};
  const auto line = [&](int k, double cycles, int warps, int chains) {
    const double each = cycles / (double(loops) * chains * (warps / 4));
    std::printf("%-14s %2d warps/SM, %d chains: %.2f cycles per instruction and sub-partition, %.0f FMA/cycle/SM\n",
                names[k], warps, chains, each, 4 * fma[k] / each);
  };
  for (int warps : {4, 8, 16}) {
    line(0, measure<m8n8k4, 4>(warps), warps, 4);
    line(1, measure<m16n8k4, 4>(warps), warps, 4);
    line(2, measure<m16n8k8, 4>(warps), warps, 4);
    line(3, measure<m16n8k16, 4>(warps), warps, 4);
    line(4, measure<dfma, 4>(warps), warps, 4);
  }
  std::printf("latency: DMMA m8n8k4 %.1f, m16n8k8 %.1f, DFMA %.1f cycles\n", measure<m8n8k4, 1>(4) / loops,
              measure<m16n8k8, 1>(4) / loops, measure<dfma, 1>(4) / loops);
  // 16 warps: 8 with DMMA, 8 with 4 DFMA each: the time of the sum if they share a pipe, of the longer if they do not
  const double d = measure<m8n8k4, 4>(8), f = measure<dfma, 4>(8) * 4, together = measure<both, 4>(16);
  std::printf(
      "8 warps DMMA m8n8k4: %.0f cycles; 8 warps of 4 times as many DFMA: %.0f; both kinds at once: %.0f (sum %.0f, "
      "longer %.0f)\n",
      d, f, together, d + f, std::max(d, f));
  const double in_warp = measure<mixed_in_warp, 4>(16), d16 = measure<m8n8k4, 4>(16), f16 = 2 * measure<dfma, 4>(16);
  std::printf("16 warps, each DMMA and 2 DFMA interleaved: %.0f cycles (DMMA alone %.0f, DFMA alone %.0f)\n", in_warp, d16,
              f16);
}

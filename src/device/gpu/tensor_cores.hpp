// What the lanes of a warp do together for products of small matrices in double precision: CUDA alone, sm_80 or newer.
#pragma once

#include <algorithm>

#include "device/gpu/check.hpp"
#include "device/gpu/occupancy.hpp"

namespace commlens::device::gpu {

/// Two values of a lane, adjacent in shared memory.
struct Pair {
  double of[2];
};

/// sum += A B, with 8 x 4 and 4 x 8 matrices. Lane 4 g + l has A[g][l], B[l][g], sum[g][2 l] and sum[g][2 l + 1].
__device__ inline void add_product(double a, double b, Pair& sum) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(sum.of[0]), "+d"(sum.of[1])
               : "d"(a), "d"(b));
#else
  __trap();  // not launched: see has_tensor_cores()
#endif
}

/// By a shuffle: so the compiler knows that it is the same for all lanes, and what depends on it, too.
__device__ inline int warp_of_block() { return __shfl_sync(0xFFFFFFFFU, static_cast<int>(threadIdx.x) / 32, 0); }

/// Shared memory; of pairs 16 bytes at once, to which they are aligned.
__device__ inline void put(double* to, const Pair& pair) {
  *reinterpret_cast<double2*>(to) = make_double2(pair.of[0], pair.of[1]);
}
__device__ inline Pair get_pair(const double* from) {
  const double2 pair = *reinterpret_cast<const double2*>(from);
  return {{pair.x, pair.y}};
}
template <class T>
__device__ inline T get(const T* from) {
  return *from;
}

/// Copies from global to shared memory, beside other instructions. Of the Bytes only the first `bytes` are read, and
/// the others are 0.
template <int Bytes>
__device__ inline void copy(void* to, const void* from, int bytes = Bytes) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from), "n"(Bytes), "r"(bytes)
      : "memory");
#endif
}
/// Ends a group of this lane's copies.
__device__ inline void end_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Waits for all of this lane's copies but those of the last groups.
template <int groups>
__device__ inline void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
#endif
}

/// Whether the code of the kernel for this GPU has them: it may come from a compilation for older GPUs.
template <class Kernel>
bool has_tensor_cores(Kernel kernel) {
  return ptx_version(kernel) >= 80;
}

/// Asks for as much of a multiprocessor's memory to be shared memory as so many blocks of the kernel need, or for all
/// of it where that is not enough; the rest is L1 cache. The driver rounds up to a size that the GPU has. Its own
/// choice may hold fewer blocks. For kernels without dynamic shared memory.
template <class Kernel>
void set_shared_memory(Kernel kernel, int blocks) {
  cudaFuncAttributes attributes;
  GPU_CALL(FuncGetAttributes, &attributes, kernel);
  int device = 0;
  int reserved = 0;
  int all = 0;
  GPU_CALL(GetDevice, &device);
  GPU_CALL(DeviceGetAttribute, &reserved, cudaDevAttrReservedSharedMemoryPerBlock, device);
  GPU_CALL(DeviceGetAttribute, &all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  const int wanted = blocks * (static_cast<int>(attributes.sharedSizeBytes) + reserved);
  const int percent = std::min(100, (100 * wanted + all - 1) / all);
  GPU_CALL(FuncSetAttribute, kernel, cudaFuncAttributePreferredSharedMemoryCarveout, percent);
}

}  // namespace commlens::device::gpu

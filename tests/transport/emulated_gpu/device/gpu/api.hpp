// Stands for src/device/gpu/api.hpp where kernels are compiled for threads of the host: what kernels of the transport
// `peer` use of CUDA and HIP. Memory is that of the process, and every rank is some of its threads.
#pragma once

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#define COMMLENS_EMULATED_GPU
#define __host__
#define __device__

struct dim3 {
  unsigned x = 1;
};
struct alignas(16) uint4 {
  unsigned words[4];
};

inline thread_local dim3 threadIdx;
inline thread_local dim3 blockIdx;
inline thread_local dim3 blockDim;
inline thread_local dim3 gridDim;

namespace commlens::emulated {

struct Block {
  explicit Block(unsigned threads) : all(static_cast<std::ptrdiff_t>(threads)) {}
  std::barrier<> all;
  std::atomic<int> either{0};
};
inline thread_local Block* block = nullptr;

/// Runs `kernel` in all threads of all blocks, which are all resident.
inline void launch(unsigned blocks, unsigned threads, const std::function<void()>& kernel) {
  std::vector<std::unique_ptr<Block>> resident;
  std::vector<std::jthread> running;
  for (unsigned b = 0; b < blocks; ++b) {
    resident.push_back(std::make_unique<Block>(threads));
    for (unsigned t = 0; t < threads; ++t) {
      running.emplace_back([&kernel, blocks, threads, b, t, of_thread = resident.back().get()] {
        threadIdx = {t};
        blockIdx = {b};
        blockDim = {threads};
        gridDim = {blocks};
        block = of_thread;
        kernel();
      });
    }
  }
}

}  // namespace commlens::emulated

inline void commlens_emulated_yield() { std::this_thread::yield(); }
inline void __syncthreads() { commlens::emulated::block->all.arrive_and_wait(); }
inline int __syncthreads_or(int value) {
  auto& block = *commlens::emulated::block;
  block.either |= value;
  __syncthreads();
  const int either = block.either;
  __syncthreads();
  block.either = 0;
  __syncthreads();
  return either;
}
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence() { __threadfence_system(); }
inline unsigned atomicAdd(unsigned* data, unsigned value) { return std::atomic_ref<unsigned>(*data).fetch_add(value); }
template <class Number>
Number atomicAdd_system(Number* data, Number value) {
  return std::atomic_ref<Number>(*data).fetch_add(value);
}
template <class Word>
Word atomicCAS_system(Word* data, Word expected, Word value) {
  std::atomic_ref<Word>(*data).compare_exchange_strong(expected, value);
  return expected;
}

// Sums over ranks, and barriers, of the transport `peer` on GPUs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/gpu/api.hpp"
#include "transport/peer/region.hpp"

namespace commlens::transport::peer::gpu {

__device__ inline void synchronize_ranks(const Links& links) {
  const Word number = load(links.counters().barriers) + 1;
  const auto peer = static_cast<int>(threadIdx.x);
  if (peer < links.ranks) {
    store(links.inbox_of(peer).barrier, number);
    wait_until_at_least(links.inbox_from(peer).barrier, number);
  }
  __syncthreads();
  if (threadIdx.x == 0) links.counters().barriers = number;
}

/// An element that came as flagged words.
template <class Element>
__device__ inline Element element_of(const Word* words, Word number) {
  static_assert(sizeof(Element) == 4 || sizeof(Element) == 8);
  union {
    unsigned words[sizeof(Element) / 4];
    Element element;
  } both;
  for (std::size_t i = 0; i < sizeof(Element) / 4; ++i) both.words[i] = wait_for(words[i], number);
  return both.element;
}

/// Every rank sums everything. A mailbox is written again two sums later: by then all ranks have come to the sum in
/// between, and so have read it.
template <class Element, class Operation>
__device__ inline void sum_at_once(const Links& links, const Element* input, Element* output, std::size_t count,
                                   Operation operation) {
  constexpr std::size_t words_each = sizeof(Element) / 4;
  const Word number = load(links.counters().small_sums) + 1;
  const std::size_t per_block = (count + gridDim.x - 1) / gridDim.x;
  const std::size_t first = blockIdx.x * per_block;
  const std::size_t end = first + per_block < count ? first + per_block : count;
  const auto* words = reinterpret_cast<const unsigned*>(input);
  for (std::size_t word = first * words_each + threadIdx.x; word < end * words_each; word += blockDim.x) {
    const Word flagged_word = flagged(words[word], number);
    for (int step = 1; step < links.ranks; ++step) {
      store(links.inbox_of((links.rank + step) % links.ranks).mailboxes[number % 2][word], flagged_word);
    }
  }
  __syncthreads();  // output may be input
  for (std::size_t i = first + threadIdx.x; i < end; i += blockDim.x) {
    const Element local = input[i];
    Element sum{};
    for (int peer = 0; peer < links.ranks; ++peer) {
      const Word* mailbox = links.inbox_from(peer).mailboxes[number % 2] + i * words_each;
      const Element contribution = peer == links.rank ? local : element_of<Element>(mailbox, number);
      sum = peer == 0 ? contribution : operation(sum, contribution);
    }
    output[i] = sum;
  }
  if (is_last_block(links.counters().blocks_of_sum) && threadIdx.x == 0) links.counters().small_sums = number;
}

/// So many elements that a GPU loads and stores them at once.
template <class Element>
struct alignas(16) Pack {
  static constexpr std::size_t length = 16 / sizeof(Element);
  Element elements[length];
};

template <class Element, class Operation>
__device__ inline Pack<Element> combined(const Pack<Element>& a, const Pack<Element>& b, Operation operation) {
  Pack<Element> result;
  for (std::size_t i = 0; i < Pack<Element>::length; ++i) result.elements[i] = operation(a.elements[i], b.elements[i]);
  return result;
}
template <class Element, class Operation>
__device__ inline Element combined(Element a, Element b, Operation operation) {
  return operation(a, b);
}

/// Addresses of a large sum, by rank, as this rank sees them; in the shared memory of the block.
struct Arrays {
  const std::byte* inputs[most_ranks];
  std::byte* outputs[most_ranks];
  bool are_aligned;
};

/// The elements first, first + stride ... before `end` of all inputs, in the order of the ranks, to all outputs.
template <class Element, class Operation>
__device__ inline void sum_share(const Links& links, const Arrays& arrays, std::size_t first, std::size_t end,
                                 std::size_t stride, Operation operation) {
  constexpr int at_once = 4;
  for (std::size_t i = first; i < end; i += stride) {
    Element sum{};
    for (int begin = 0; begin < links.ranks; begin += at_once) {
      Element elements[at_once]{};
      for (int n = 0; n < at_once; ++n) {
        if (begin + n < links.ranks) elements[n] = reinterpret_cast<const Element*>(arrays.inputs[begin + n])[i];
      }
      for (int n = 0; n < at_once; ++n) {
        if (begin + n < links.ranks) sum = begin + n == 0 ? elements[n] : combined(sum, elements[n], operation);
      }
    }
    for (int step = 0; step < links.ranks; ++step) {
      reinterpret_cast<Element*>(arrays.outputs[(links.rank + step) % links.ranks])[i] = sum;
    }
  }
}

/// Tells all ranks where the arrays of this one are, and waits for theirs.
__device__ inline void begin_sum(const Links& links, const void* input, void* output, Word number, Arrays& arrays) {
  const auto peer = static_cast<int>(threadIdx.x);
  if (threadIdx.x == 0) arrays.are_aligned = true;
  __syncthreads();
  if (peer < links.ranks) {
    const std::byte* arena = links.arenas[links.rank];
    if (blockIdx.x == 0) {
      fence();  // what earlier kernels wrote
      Word* begun = links.inbox_of(peer).begun;
      store(begun[0], tagged(number, static_cast<std::size_t>(static_cast<const std::byte*>(input) - arena)));
      store(begun[1], tagged(number, static_cast<std::size_t>(static_cast<std::byte*>(output) - arena)));
    }
    const Word* begun = links.inbox_from(peer).begun;
    arrays.inputs[peer] = links.arenas[peer] + wait_for_offset(begun[0], number);
    arrays.outputs[peer] = links.arenas[peer] + wait_for_offset(begun[1], number);
    fence();
    const auto bits =
        reinterpret_cast<std::uintptr_t>(arrays.inputs[peer]) | reinterpret_cast<std::uintptr_t>(arrays.outputs[peer]);
    if (bits % 16 != 0) arrays.are_aligned = false;
  }
  __syncthreads();
}

/// Each rank sums its share. Nobody else reads that part of the inputs, so that output may be input.
template <class Element, class Operation>
__device__ inline void sum_in_shares(const Links& links, const Element* input, Element* output, std::size_t count,
                                     Operation operation, Arrays& arrays) {
  constexpr std::size_t length = Pack<Element>::length;
  const Word number = load(links.counters().large_sums) + 1;
  begin_sum(links, input, output, number, arrays);
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const std::size_t stride = gridDim.x * static_cast<std::size_t>(blockDim.x);
  const std::size_t packs = count / length;
  const auto begin = [&](int rank) {
    return packs * static_cast<std::size_t>(rank) / static_cast<std::size_t>(links.ranks);
  };
  const std::size_t first = begin(links.rank);
  const std::size_t end = begin(links.rank + 1);
  if (arrays.are_aligned) {
    sum_share<Pack<Element>>(links, arrays, first + thread, end, stride, operation);
  } else {
    sum_share<Element>(links, arrays, first * length + thread, end * length, stride, operation);
  }
  const bool has_rest = links.rank == links.ranks - 1;
  if (has_rest) sum_share<Element>(links, arrays, packs * length + thread, count, stride, operation);
  __syncthreads();
  if (threadIdx.x == 0) fence();
  if (!is_last_block(links.counters().blocks_of_sum)) return;
  const auto peer = static_cast<int>(threadIdx.x);
  if (peer < links.ranks) {
    fence();
    store(links.inbox_of(peer).done, number);
    wait_until_at_least(links.inbox_from(peer).done, number);
  }
  if (threadIdx.x == 0) links.counters().large_sums = number;
}

}  // namespace commlens::transport::peer::gpu

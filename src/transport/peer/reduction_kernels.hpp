// Reductions, and barriers, of the transport `peer` on GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/gpu/api.hpp"
#include "transport/collectives.hpp"
#include "transport/peer/region.hpp"
#include "transport/reductions.hpp"

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

/// Chosen in the kernel: one for each type, instead of one for each type and reduction, is less to compile.
struct Combiner {
  Reduction reduction = Reduction::sum;

  template <class Element>
  __device__ Element operator()(Element a, Element b) const {
    Element result = a;
    const auto combine = [&](auto operation) { result = operation(a, b); };
    if constexpr (std::is_integral_v<Element>) {
      if (with_bits(reduction, combine)) return result;
    }
    with_arithmetic(reduction, combine);
    return result;
  }
};

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

/// An allreduce in which every rank combines everything. A mailbox is written again two of them later: by then all
/// ranks have come to the one in between, and so have read it.
template <class Element>
__device__ inline void reduce_at_once(const Links& links, const Element* input, Element* output, std::size_t count,
                                      Combiner combine) {
  constexpr std::size_t words_each = sizeof(Element) / 4;
  const Word number = load(links.counters().small_reductions) + 1;
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
    Element result{};
    for (int peer = 0; peer < links.ranks; ++peer) {
      const Word* mailbox = links.inbox_from(peer).mailboxes[number % 2] + i * words_each;
      const Element contribution = peer == links.rank ? local : element_of<Element>(mailbox, number);
      result = peer == 0 ? contribution : combine(result, contribution);
    }
    output[i] = result;
  }
  if (is_last_block(links.counters().blocks_of_reduction) && threadIdx.x == 0)
    links.counters().small_reductions = number;
}

/// So many elements that a GPU loads and stores them at once.
template <class Element>
struct alignas(16) Pack {
  static constexpr std::size_t length = 16 / sizeof(Element);
  Element elements[length];
};

template <class Element>
__device__ inline Pack<Element> combined(const Pack<Element>& a, const Pack<Element>& b, Combiner combine) {
  Pack<Element> result;
  for (std::size_t i = 0; i < Pack<Element>::length; ++i) result.elements[i] = combine(a.elements[i], b.elements[i]);
  return result;
}
template <class Element>
__device__ inline Element combined(Element a, Element b, Combiner combine) {
  return combine(a, b);
}

/// What a rank does of a reduction: it combines the same elements of the inputs of ranks `first` to `last`.
struct Share {
  int first = 0;
  int last = 0;
  std::size_t input = 0;  ///< where they begin in each input
  std::size_t count = 0;
  std::size_t output = 0;  ///< where the results begin in the output
  bool to_all = false;     ///< in the outputs of all ranks, or in that of this rank alone
};

/// Addresses of a share, as this rank sees them; in the shared memory of the block.
struct Arrays {
  const std::byte* inputs[most_ranks];
  std::byte* outputs[most_ranks];
  int input_count;
  int output_count;
  bool are_aligned;  ///< for Pack
};

/// The elements first, first + stride ... before `end`, in the order of the ranks.
template <class Element>
__device__ inline void combine_inputs(const Arrays& arrays, std::size_t first, std::size_t end, std::size_t stride,
                                      Combiner combine) {
  constexpr int at_once = 4;
  for (std::size_t i = first; i < end; i += stride) {
    Element result{};
    for (int begin = 0; begin < arrays.input_count; begin += at_once) {
      Element elements[at_once]{};
      for (int n = 0; n < at_once; ++n) {
        if (begin + n < arrays.input_count) {
          elements[n] = reinterpret_cast<const Element*>(arrays.inputs[begin + n])[i];
        }
      }
      for (int n = 0; n < at_once; ++n) {
        if (begin + n < arrays.input_count) {
          result = begin + n == 0 ? elements[n] : combined(result, elements[n], combine);
        }
      }
    }
    for (int n = 0; n < arrays.output_count; ++n) reinterpret_cast<Element*>(arrays.outputs[n])[i] = result;
  }
}

/// Tells all ranks where the arrays of this one are, and waits for theirs.
template <class Element>
__device__ inline void begin_reduction(const Links& links, const Element* input, Element* output, const Share& share,
                                       Word number, Arrays& arrays) {
  const auto peer = static_cast<int>(threadIdx.x);
  if (threadIdx.x == 0) {
    arrays.are_aligned = true;
    arrays.input_count = share.last - share.first + 1;
    arrays.output_count = share.to_all ? links.ranks : 1;
  }
  __syncthreads();
  if (peer < links.ranks) {
    const std::byte* arena = links.arenas[links.rank];
    if (blockIdx.x == 0) {
      fence();  // what earlier kernels wrote
      Word* begun = links.inbox_of(peer).begun;
      store(begun[0], tagged(number, static_cast<std::size_t>(reinterpret_cast<const std::byte*>(input) - arena)));
      store(begun[1], tagged(number, static_cast<std::size_t>(reinterpret_cast<std::byte*>(output) - arena)));
    }
    const Word* begun = links.inbox_from(peer).begun;
    const std::byte* from = links.arenas[peer] + wait_for_offset(begun[0], number) + share.input * sizeof(Element);
    std::byte* to = links.arenas[peer] + wait_for_offset(begun[1], number) + share.output * sizeof(Element);
    fence();
    const bool is_input = share.first <= peer && peer <= share.last;
    const bool is_output = share.to_all || peer == links.rank;
    if (is_input) arrays.inputs[peer - share.first] = from;
    // Each rank begins with its own output, so that not all store into the same memory.
    if (is_output) arrays.outputs[share.to_all ? (peer + links.ranks - links.rank) % links.ranks : 0] = to;
    if (is_input && reinterpret_cast<std::uintptr_t>(from) % 16 != 0) arrays.are_aligned = false;
    if (is_output && reinterpret_cast<std::uintptr_t>(to) % 16 != 0) arrays.are_aligned = false;
  }
  __syncthreads();
}

/// Tells all ranks that this one has its results, and waits for them: their inputs may change then, and their results
/// are here. By the last block.
__device__ inline void end_reduction(const Links& links, Word number) {
  __syncthreads();
  if (threadIdx.x == 0) fence();
  if (!is_last_block(links.counters().blocks_of_reduction)) return;
  const auto peer = static_cast<int>(threadIdx.x);
  if (peer < links.ranks) {
    fence();
    store(links.inbox_of(peer).done, number);
    wait_until_at_least(links.inbox_from(peer).done, number);
  }
  if (threadIdx.x == 0) links.counters().large_reductions = number;
}

/// Every rank calls it, also for a share of no elements. Input may be output where no other rank reads what this one
/// writes.
template <class Element>
__device__ inline void reduce_share(const Links& links, const Element* input, Element* output, const Share& share,
                                    Combiner combine, Arrays& arrays) {
  constexpr std::size_t length = Pack<Element>::length;
  const Word number = load(links.counters().large_reductions) + 1;
  begin_reduction(links, input, output, share, number, arrays);
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const std::size_t stride = gridDim.x * static_cast<std::size_t>(blockDim.x);
  const std::size_t packs = arrays.are_aligned ? share.count / length : 0;
  combine_inputs<Pack<Element>>(arrays, thread, packs, stride, combine);
  combine_inputs<Element>(arrays, packs * length + thread, share.count, stride, combine);
  end_reduction(links, number);
}

}  // namespace commlens::transport::peer::gpu

// What the kernels of the transport `peer` on GPUs (message_kernels.hpp, reduction_kernels.hpp) work with: stores into
// the memory of the other ranks' GPUs, and flags there that the receiver polls in its own memory. The host only
// launches them.
//
//   short message    the sender stores it into a slot of the receiver's inbox: words of 4 bytes, each with its flag, so
//                    that no fence is needed (as NCCL's protocol LL)
//   long message     the receiver tells the sender where it wants the message; the sender stores it there, then a flag
//   short allreduce  each rank stores its array into the mailboxes of all; each combines everything
//   other reduction  each rank loads its share of the inputs from the memory of the ranks that have them, and stores
//                    the results into its own memory, or for an allreduce into that of all
//
// Numbers of messages and of collectives are counted in the GPU's memory, so that a graph can repeat a kernel. Two
// kernels of one transport that use the same counters must not run at the same time.
//
// Blocks wait for other ranks. Posters, receivers and at least one sender of a transfer must be resident together:
// there are few of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/gpu/api.hpp"

namespace commlens::transport::peer::gpu {

using Word = unsigned long long;  // what GPUs store at once

inline constexpr int most_ranks = 16;
inline constexpr unsigned threads_per_block = 512;
inline constexpr unsigned most_blocks = 64;         // of a transfer
inline constexpr std::size_t short_message = 8192;  // bytes
inline constexpr std::size_t mailbox_bytes = 262144;
inline constexpr unsigned inbox_slots = 64;  // short messages under way between two ranks
inline constexpr unsigned posts = 256;       // long ones

/// What another rank writes into the memory of this rank.
struct Inbox {
  Word arrived[posts];                         ///< as receiver: numbers of long messages that are here
  Word slots[inbox_slots][short_message / 4];  ///< as receiver: short messages
  Word posted[posts];                          ///< as sender: where long messages are to go (tagged())
  Word taken[inbox_slots];                     ///< as sender: numbers of short messages whose slots are free again
  Word mailboxes[2][mailbox_bytes / 4];        ///< of short allreduces, used in turns
  Word begun[2];                               ///< input and output of the present other reduction (tagged())
  Word done;                                   ///< number of the last such reduction whose results it has stored
  Word barrier;                                ///< number of the last barrier that it has reached
};

/// Numbers of what was finished, counted by this rank alone.
struct Counters {
  Word short_sent[most_ranks];
  Word long_sent[most_ranks];
  Word short_received[most_ranks];
  Word long_received[most_ranks];
  Word small_reductions;
  Word large_reductions;
  Word barriers;
  unsigned blocks_of_transfer;  ///< that have finished; 0 between kernels
  unsigned blocks_of_reduction;
  unsigned chunks[most_ranks][posts];  ///< of a long message, that are stored; 0 between messages
};

/// In the memory of one GPU, which all ranks reach.
struct Region {
  Inbox from[most_ranks];
  Counters counters;
};

/// How a rank reaches the others; part of each kernel's arguments.
struct Links {
  int rank = 0;
  int ranks = 1;
  Region* regions[most_ranks] = {};    ///< by rank, at addresses of this rank
  std::byte* arenas[most_ranks] = {};  ///< the buffers, likewise

  __device__ Inbox& inbox_from(int peer) const { return regions[rank]->from[peer]; }
  __device__ Inbox& inbox_of(int peer) const { return regions[peer]->from[rank]; }
  __device__ Counters& counters() const { return regions[rank]->counters; }
};

/// A message of an operation.
struct Transfer {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
  unsigned index = 0;    ///< among the short, or the long, messages to or from this peer, from 0
  bool is_last = false;  ///< of these
};

__host__ __device__ constexpr bool is_short(std::size_t bytes) { return bytes <= short_message; }

// Flags and words.

__device__ inline Word load(const Word& word) { return *static_cast<const volatile Word*>(&word); }
__device__ inline void store(Word& word, Word value) { *static_cast<volatile Word*>(&word) = value; }

/// Between two looks at a word that another rank writes.
__device__ inline void look_again() {
#if defined(COMMLENS_EMULATED_GPU)
  commlens_emulated_yield();
#endif
}

/// Orders what this thread, and those that it has met at a barrier, have stored before with what it stores afterwards,
/// for all GPUs; likewise loads.
__device__ inline void fence() {
#if defined(COMMLENS_CUDA) && defined(__CUDA_ARCH__)
  asm volatile("fence.acq_rel.sys;" ::: "memory");  // __threadfence_system() orders more, and takes longer
#else
  __threadfence_system();
#endif
}

/// Without an order of what follows: for room, not for data.
__device__ inline void wait_for_room(const Word& word, Word number) {
  while (load(word) < number) look_again();
}
__device__ inline void wait_until_at_least(const Word& word, Word number) {
  wait_for_room(word, number);
  fence();
}

/// An offset of less than 1 TiB with the number of its message, in one word.
constexpr int offset_bits = 40;
__device__ inline Word tagged(Word number, std::size_t offset) { return number << offset_bits | offset; }
__device__ inline bool has_tag(Word word, Word number) {
  return (word >> offset_bits) == (number << offset_bits) >> offset_bits;
}
__device__ inline std::size_t offset_of(Word word) { return word & ((Word{1} << offset_bits) - 1); }

__device__ inline std::size_t wait_for_offset(const Word& word, Word number) {
  Word current = load(word);
  while (!has_tag(current, number)) {
    look_again();
    current = load(word);
  }
  return offset_of(current);
}

/// Never 0, which memory has that was not written.
__device__ inline unsigned flag_of(Word number) { return static_cast<unsigned>(number) | 1U << 31; }
__device__ inline Word flagged(unsigned data, Word number) { return static_cast<Word>(flag_of(number)) << 32 | data; }
/// The data of a word, once it has the flag.
__device__ inline unsigned wait_for(const Word& word, Word number) {
  Word current = load(word);
  while (static_cast<unsigned>(current >> 32) != flag_of(number)) {
    look_again();
    current = load(word);
  }
  return static_cast<unsigned>(current);
}

/// Up to 4 bytes, of any alignment.
__device__ inline unsigned load_bytes(const std::byte* from, std::size_t bytes) {
  if (bytes >= 4 && reinterpret_cast<std::uintptr_t>(from) % 4 == 0) return *reinterpret_cast<const unsigned*>(from);
  unsigned data = 0;
  for (std::size_t i = 0; i < bytes && i < 4; ++i) data |= static_cast<unsigned>(from[i]) << 8 * i;
  return data;
}
__device__ inline void store_bytes(std::byte* to, unsigned data, std::size_t bytes) {
  if (bytes >= 4 && reinterpret_cast<std::uintptr_t>(to) % 4 == 0) {
    *reinterpret_cast<unsigned*>(to) = data;
    return;
  }
  for (std::size_t i = 0; i < bytes && i < 4; ++i) to[i] = static_cast<std::byte>(data >> 8 * i);
}

/// A block copies so many elements, several loads of each thread at a time.
template <class Element>
__device__ inline void copy_elements(Element* to, const Element* from, std::size_t count) {
  constexpr int at_once = 4;
  const std::size_t stride = blockDim.x;
  std::size_t i = threadIdx.x;
  for (; i + (at_once - 1) * stride < count; i += at_once * stride) {
    Element elements[at_once];
    for (int n = 0; n < at_once; ++n) elements[n] = from[i + n * stride];
    for (int n = 0; n < at_once; ++n) to[i + n * stride] = elements[n];
  }
  for (; i < count; i += stride) to[i] = from[i];
}

/// By elements of this size, to which `to` and `from` are aligned in the same way; single bytes before and behind.
template <class Element>
__device__ inline void copy_by(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t size = sizeof(Element);
  std::size_t head = (size - reinterpret_cast<std::uintptr_t>(to) % size) % size;
  head = head < bytes ? head : bytes;
  const std::size_t elements = (bytes - head) / size;
  const std::size_t tail = head + elements * size;
  copy_elements(to, from, head);
  copy_elements(reinterpret_cast<Element*>(to + head), reinterpret_cast<const Element*>(from + head), elements);
  copy_elements(to + tail, from + tail, bytes - tail);
}

__device__ inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto apart = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  if (apart % sizeof(uint4) == 0) return copy_by<uint4>(to, from, bytes);
  if (apart % sizeof(Word) == 0) return copy_by<Word>(to, from, bytes);
  if (apart % sizeof(unsigned) == 0) return copy_by<unsigned>(to, from, bytes);
  copy_elements(to, from, bytes);
}

/// Whether this is the last block of the kernel to come here; true for all of its threads. By then all other blocks
/// have read what the last one may change. `arrived` is 0 again afterwards.
__device__ inline bool is_last_block(unsigned& arrived) {
  bool last = gridDim.x == 1;
  if (!last) {
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&arrived, 1U) == gridDim.x - 1;
    if (last) __threadfence();  // before the barrier, so that all threads see what the other blocks have stored
    last = __syncthreads_or(last ? 1 : 0) != 0;
    if (last && threadIdx.x == 0) {
      __threadfence();
      arrived = 0;
    }
  } else {
    __syncthreads();
  }
  return last;
}

}  // namespace commlens::transport::peer::gpu

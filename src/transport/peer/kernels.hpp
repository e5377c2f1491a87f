// The kernels of the transport `peer` on GPUs: stores into the memory of the other ranks' GPUs, and flags there that
// the receiver polls in its own memory. The host only starts them.
//
//   short message   the sender stores it into a slot of the receiver's inbox: words of 4 bytes, each with its flag, so
//                   that no fence is needed (as NCCL's protocol LL)
//   long message    the receiver tells the sender where it wants the message; the sender stores it there, then a flag
//   small sum       each rank stores its array into the mailboxes of all; each sums everything
//   large sum       each rank loads its share from the memory of all, and stores the sums into that of all
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
  Word mailboxes[2][mailbox_bytes / 4];        ///< of small sums, used in turns
  Word begun[2];                               ///< input and output of the present large sum (tagged())
  Word done;                                   ///< number of the last large sum whose results it has stored
  Word barrier;                                ///< number of the last barrier that it has reached
};

/// Numbers of what was finished, counted by this rank alone.
struct Counters {
  Word short_sent[most_ranks];
  Word long_sent[most_ranks];
  Word short_received[most_ranks];
  Word long_received[most_ranks];
  Word small_sums;
  Word large_sums;
  Word barriers;
  unsigned blocks_of_transfer;  ///< that have finished; 0 between kernels
  unsigned blocks_of_sum;
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

  __device__ Inbox& own_inbox(int peer) const { return regions[rank]->from[peer]; }
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
  Word found = load(word);
  while (!has_tag(found, number)) {
    look_again();
    found = load(word);
  }
  return offset_of(found);
}

/// Never 0, which memory has that was not written.
__device__ inline unsigned flag_of(Word number) { return static_cast<unsigned>(number) | 1U << 31; }
__device__ inline Word flagged(unsigned data, Word number) { return static_cast<Word>(flag_of(number)) << 32 | data; }
/// The data of a word, once it has the flag.
__device__ inline unsigned wait_for(const Word& word, Word number) {
  Word found = load(word);
  while (static_cast<unsigned>(found >> 32) != flag_of(number)) {
    look_again();
    found = load(word);
  }
  return static_cast<unsigned>(found);
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

// Messages.

/// The messages of an operation: from `sends` on, `short_receives` and `long_receives`.
struct Lists {
  const Transfer* transfers = nullptr;
  unsigned sends = 0;
  unsigned short_receives = 0;
  unsigned long_receives = 0;

  __host__ __device__ unsigned all() const { return sends + short_receives + long_receives; }
  __device__ const Transfer& send(unsigned i) const { return transfers[i]; }
  __device__ const Transfer& short_receive(unsigned i) const { return transfers[sends + i]; }
  __device__ const Transfer& long_receive(unsigned i) const { return transfers[sends + short_receives + i]; }
};

/// What the blocks of a kernel do: the first one may post receives of long messages and wait for them, the next ones
/// receive short messages, the others send. Lists are in the order of the messages' numbers, so that the first message
/// that is not yet through can always proceed.
struct Roles {
  unsigned posters = 0;
  unsigned receivers = 0;
  unsigned senders = 0;
  std::size_t chunk = 0;  ///< bytes of a long message that a block sends at a time

  __host__ __device__ unsigned blocks() const { return posters + receivers + senders; }
};

__device__ inline Word& counter_of(const Links& links, const Transfer& transfer, bool is_send) {
  Counters& counters = links.counters();
  if (is_short(transfer.bytes))
    return is_send ? counters.short_sent[transfer.peer] : counters.short_received[transfer.peer];
  return is_send ? counters.long_sent[transfer.peer] : counters.long_received[transfer.peer];
}

/// Its number among the short, or the long, messages of the two ranks, from 1. The counter changes when all blocks have
/// finished.
__device__ inline Word number_of(const Links& links, const Transfer& transfer, bool is_send) {
  return load(counter_of(links, transfer, is_send)) + transfer.index + 1;
}

__device__ inline std::size_t words_of(const Transfer& transfer) {
  return transfer.bytes == 0 ? 1 : (transfer.bytes + 3) / 4;  // of an empty message the flag comes
}

/// Posts the receives of long messages, each thread some, and waits for the messages.
__device__ inline void post_long_receives(const Links& links, const Lists& lists) {
  for (unsigned i = threadIdx.x; i < lists.long_receives; i += blockDim.x) {
    const Transfer& receive = lists.long_receive(i);
    const Word number = number_of(links, receive, false);
    if (number > posts) wait_for_room(links.own_inbox(receive.peer).arrived[number % posts], number - posts);
    const auto offset = static_cast<std::size_t>(receive.data - links.arenas[links.rank]);
    store(links.inbox_of(receive.peer).posted[number % posts], tagged(number, offset));
  }
  for (unsigned i = threadIdx.x; i < lists.long_receives; i += blockDim.x) {
    const Transfer& receive = lists.long_receive(i);
    const Word number = number_of(links, receive, false);
    wait_until_at_least(links.own_inbox(receive.peer).arrived[number % posts], number);
  }
}

__device__ inline void receive_short(const Links& links, const Transfer& receive) {
  const Word number = number_of(links, receive, false);
  const Word* slot = links.own_inbox(receive.peer).slots[number % inbox_slots];
  for (std::size_t word = threadIdx.x; word < words_of(receive); word += blockDim.x) {
    const unsigned data = wait_for(slot[word], number);
    store_bytes(receive.data + 4 * word, data, receive.bytes - 4 * word);
  }
  __syncthreads();
  if (threadIdx.x == 0) store(links.inbox_of(receive.peer).taken[number % inbox_slots], number);
}

__device__ inline void send_short(const Links& links, const Transfer& send) {
  const Word number = number_of(links, send, true);
  if (number > inbox_slots) {
    if (threadIdx.x == 0) {
      wait_for_room(links.own_inbox(send.peer).taken[number % inbox_slots], number - inbox_slots);
    }
    __syncthreads();
  }
  Word* slot = links.inbox_of(send.peer).slots[number % inbox_slots];
  for (std::size_t word = threadIdx.x; word < words_of(send); word += blockDim.x) {
    store(slot[word], flagged(load_bytes(send.data + 4 * word, send.bytes - 4 * word), number));
  }
}

/// A block sends one of the chunks of a long message; who stores the last one tells the receiver.
__device__ inline void send_chunk(const Links& links, const Transfer& send, std::size_t first, std::size_t bytes,
                                  unsigned chunks) {
  const Word number = number_of(links, send, true);
  const Word& posted = links.own_inbox(send.peer).posted[number % posts];
  if (threadIdx.x == 0) {
    while (!has_tag(load(posted), number)) look_again();
    fence();
  }
  __syncthreads();
  copy_bytes(links.arenas[send.peer] + offset_of(load(posted)) + first, send.data + first, bytes);
  __syncthreads();
  if (threadIdx.x != 0) return;
  fence();
  unsigned& stored = links.counters().chunks[send.peer][number % posts];
  if (chunks > 1) {
    if (atomicAdd(&stored, 1U) != chunks - 1) return;
    stored = 0;
    fence();
  }
  store(links.inbox_of(send.peer).arrived[number % posts], number);
}

/// Chunks are dealt out to the blocks in the order of the messages.
__device__ inline void send_all(const Links& links, const Lists& lists, unsigned own, const Roles& roles) {
  unsigned dealt = 0;
  for (unsigned i = 0; i < lists.sends; ++i) {
    const Transfer& send = lists.send(i);
    if (is_short(send.bytes)) {
      if (dealt++ % roles.senders == own) send_short(links, send);
      continue;
    }
    const auto chunks = static_cast<unsigned>((send.bytes + roles.chunk - 1) / roles.chunk);
    const unsigned turn = (own + roles.senders - dealt % roles.senders) % roles.senders;
    for (unsigned chunk = turn; chunk < chunks; chunk += roles.senders) {
      const std::size_t first = chunk * roles.chunk;
      const std::size_t rest = send.bytes - first;
      send_chunk(links, send, first, rest < roles.chunk ? rest : roles.chunk, chunks);
    }
    dealt += chunks;
  }
}

__device__ inline void transfer(const Links& links, const Lists& lists, const Roles& roles) {
  const unsigned block = blockIdx.x;
  if (block < roles.posters) {
    post_long_receives(links, lists);
  } else if (block < roles.posters + roles.receivers) {
    for (unsigned i = block - roles.posters; i < lists.short_receives; i += roles.receivers) {
      receive_short(links, lists.short_receive(i));
    }
  } else {
    send_all(links, lists, block - roles.posters - roles.receivers, roles);
  }
  if (!is_last_block(links.counters().blocks_of_transfer)) return;
  for (unsigned i = threadIdx.x; i < lists.all(); i += blockDim.x) {
    const Transfer& transfer = lists.transfers[i];
    if (!transfer.is_last) continue;
    Word& counter = counter_of(links, transfer, i < lists.sends);
    counter = counter + transfer.index + 1;
  }
}

// Collectives.

__device__ inline void synchronize_ranks(const Links& links) {
  const Word number = load(links.counters().barriers) + 1;
  const auto peer = static_cast<int>(threadIdx.x);
  if (peer < links.ranks) {
    store(links.inbox_of(peer).barrier, number);
    wait_until_at_least(links.own_inbox(peer).barrier, number);
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
    const Word one = flagged(words[word], number);
    for (int step = 1; step < links.ranks; ++step) {
      store(links.inbox_of((links.rank + step) % links.ranks).mailboxes[number % 2][word], one);
    }
  }
  __syncthreads();  // output may be input
  for (std::size_t i = first + threadIdx.x; i < end; i += blockDim.x) {
    const Element own = input[i];
    Element sum{};
    for (int peer = 0; peer < links.ranks; ++peer) {
      const Word* mailbox = links.own_inbox(peer).mailboxes[number % 2] + i * words_each;
      const Element one = peer == links.rank ? own : element_of<Element>(mailbox, number);
      sum = peer == 0 ? one : operation(sum, one);
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
    const Word* begun = links.own_inbox(peer).begun;
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
    wait_until_at_least(links.own_inbox(peer).done, number);
  }
  if (threadIdx.x == 0) links.counters().large_sums = number;
}

}  // namespace commlens::transport::peer::gpu

// Messages of the transport `peer` on GPUs: what the blocks of a kernel do for a list of them.
#pragma once

#include <cstddef>

#include "device/gpu/api.hpp"
#include "transport/peer/region.hpp"

namespace commlens::transport::peer::gpu {

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
    if (number > posts) wait_for_room(links.inbox_from(receive.peer).arrived[number % posts], number - posts);
    const auto offset = static_cast<std::size_t>(receive.data - links.arenas[links.rank]);
    store(links.inbox_of(receive.peer).posted[number % posts], tagged(number, offset));
  }
  for (unsigned i = threadIdx.x; i < lists.long_receives; i += blockDim.x) {
    const Transfer& receive = lists.long_receive(i);
    const Word number = number_of(links, receive, false);
    wait_until_at_least(links.inbox_from(receive.peer).arrived[number % posts], number);
  }
}

__device__ inline void receive_short(const Links& links, const Transfer& receive) {
  const Word number = number_of(links, receive, false);
  const Word* slot = links.inbox_from(receive.peer).slots[number % inbox_slots];
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
      wait_for_room(links.inbox_from(send.peer).taken[number % inbox_slots], number - inbox_slots);
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
  const Word& posted = links.inbox_from(send.peer).posted[number % posts];
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
__device__ inline void send_all(const Links& links, const Lists& lists, unsigned sender, const Roles& roles) {
  unsigned dealt = 0;
  for (unsigned i = 0; i < lists.sends; ++i) {
    const Transfer& send = lists.send(i);
    if (is_short(send.bytes)) {
      if (dealt++ % roles.senders == sender) send_short(links, send);
      continue;
    }
    const auto chunks = static_cast<unsigned>((send.bytes + roles.chunk - 1) / roles.chunk);
    const unsigned turn = (sender + roles.senders - dealt % roles.senders) % roles.senders;
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

}  // namespace commlens::transport::peer::gpu

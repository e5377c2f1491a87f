#include "transport/peer/rings.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "transport/peer/waiting.hpp"

namespace commlens::transport::peer {

Rings::Rings(int rank, int ranks, const std::function<Ring&(int from, int to)>& ring, Find find)
    : find_(std::move(find)) {
  for (int other = 0; other < ranks; ++other) {
    outgoing_.push_back({.ring = &ring(rank, other), .waiting = {}});
    incoming_.push_back({.ring = &ring(other, rank), .waiting = {}});
  }
}

/// False: the ring is full.
bool Rings::write(Outgoing& out, const Send& message) {
  const Number number = out.written + 1;
  if (number > Ring::length && out.ring->taken.load(std::memory_order_acquire) < number - Ring::length) return false;
  Slot& slot = out.ring->slot(number);
  slot.bytes = message.bytes;
  if (message.bytes <= short_message) {
    if (message.bytes > 0) std::memcpy(slot.content, message.data, message.bytes);
  } else {
    slot.data = message.data;
    out.last_long = number;
  }
  slot.number.store(number, std::memory_order_release);
  out.written = number;
  return true;
}

void Rings::write_waiting(Outgoing& out) {
  while (!out.waiting.empty() && write(out, out.waiting.front())) {
    out.waiting.pop_front();
    --waiting_;
  }
}

/// Takes the next message of a ring for the first receive that waits for it; false if there is none of the two.
bool Rings::receive_next(int from) {
  Incoming& in = incoming(from);
  if (in.waiting.empty()) return false;
  const Number number = in.received + 1;
  const Slot& slot = in.ring->slot(number);
  if (slot.number.load(std::memory_order_acquire) != number) return false;
  const Receive wanted = in.waiting.front();
  in.waiting.pop_front();
  --waiting_;
  if (slot.bytes > wanted.bytes) {
    throw Error("peer: rank " + std::to_string(from) + " has sent " + std::to_string(slot.bytes) +
                " bytes to a buffer of " + std::to_string(wanted.bytes));
  }
  if (slot.bytes > 0) {
    std::memcpy(wanted.data, slot.bytes <= short_message ? slot.content : find_(from, slot.data), slot.bytes);
  }
  in.ring->taken.store(number, std::memory_order_release);
  in.received = number;
  return true;
}

void Rings::proceed() {
  if (waiting_ == 0) return;
  for (Outgoing& out : outgoing_) write_waiting(out);
  for (std::size_t rank = 0; rank < incoming_.size(); ++rank) {
    while (receive_next(static_cast<int>(rank))) {
    }
  }
}

Rings::Number Rings::post_send(int to, const void* data, std::size_t bytes) {
  Outgoing& out = outgoing(to);
  const Send message{static_cast<const std::byte*>(data), bytes};
  if (!out.waiting.empty() || !write(out, message)) {
    out.waiting.push_back(message);
    ++waiting_;
  }
  return ++out.posted;
}

Rings::Number Rings::post_receive(int from, void* data, std::size_t bytes) {
  Incoming& in = incoming(from);
  in.waiting.push_back({static_cast<std::byte*>(data), bytes});
  ++waiting_;
  return ++in.posted;
}

void Rings::wait_sent(int to, Number number) {
  Outgoing& out = outgoing(to);
  const auto is_sent = [&] {
    if (out.written < number) return false;
    // Short messages were copied into their slots, so that only the longer ones up to this one are waited for.
    const Number needed = out.last_long < number ? out.last_long : number;
    return out.ring->taken.load(std::memory_order_acquire) >= needed;
  };
  for (SpinWait wait(&work_); !is_sent(); wait.look_again()) proceed();
}

void Rings::wait_received(int from, Number number) {
  const Incoming& in = incoming(from);
  for (SpinWait wait(&work_); in.received < number; wait.look_again()) {
    while (in.received < number && receive_next(from)) {
    }
    if (in.received < number) proceed();
  }
}

}  // namespace commlens::transport::peer

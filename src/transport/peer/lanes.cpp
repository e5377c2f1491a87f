#include "transport/peer/lanes.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "device/error.hpp"
#include "transport/peer/wait.hpp"

namespace commlens::transport::peer {

Lanes::Lanes(const std::vector<Lane*>& out, const std::vector<Lane*>& in, Find find) : find_(std::move(find)) {
  for (Lane* lane : out) outgoing_.push_back({.lane = lane, .waiting = {}});
  for (Lane* lane : in) incoming_.push_back({.lane = lane, .waiting = {}});
}

/// False: the lane is full.
bool Lanes::write(Outgoing& lane, const Send& message) {
  const Number number = lane.written + 1;
  if (number > Lane::length && lane.lane->taken.load(std::memory_order_acquire) < number - Lane::length) return false;
  Slot& slot = lane.lane->slot(number);
  slot.bytes = message.bytes;
  if (message.bytes <= short_message) {
    if (message.bytes > 0) std::memcpy(slot.content, message.data, message.bytes);
  } else {
    slot.data = message.data;
    lane.last_long = number;
  }
  slot.number.store(number, std::memory_order_release);
  lane.written = number;
  return true;
}

void Lanes::write_waiting(Outgoing& lane) {
  while (!lane.waiting.empty() && write(lane, lane.waiting.front())) {
    lane.waiting.pop_front();
    --waiting_;
  }
}

/// Takes the next message of a lane for the first receive that waits for it; false if there is none of the two.
bool Lanes::receive_next(int from) {
  Incoming& lane = incoming(from);
  if (lane.waiting.empty()) return false;
  const Number number = lane.received + 1;
  const Slot& slot = lane.lane->slot(number);
  if (slot.number.load(std::memory_order_acquire) != number) return false;
  const Receive wanted = lane.waiting.front();
  lane.waiting.pop_front();
  --waiting_;
  if (slot.bytes > wanted.bytes) {
    throw Error("peer: rank " + std::to_string(from) + " has sent " + std::to_string(slot.bytes) +
                " bytes to a buffer of " + std::to_string(wanted.bytes));
  }
  if (slot.bytes > 0) {
    std::memcpy(wanted.data, slot.bytes <= short_message ? slot.content : find_(from, slot.data), slot.bytes);
  }
  lane.lane->taken.store(number, std::memory_order_release);
  lane.received = number;
  return true;
}

void Lanes::proceed() {
  if (waiting_ == 0) return;
  for (Outgoing& lane : outgoing_) write_waiting(lane);
  for (std::size_t rank = 0; rank < incoming_.size(); ++rank) {
    while (receive_next(static_cast<int>(rank))) {
    }
  }
}

Lanes::Number Lanes::post_send(int to, const void* data, std::size_t bytes) {
  Outgoing& lane = outgoing(to);
  const Send message{static_cast<const std::byte*>(data), bytes};
  if (!lane.waiting.empty() || !write(lane, message)) {
    lane.waiting.push_back(message);
    ++waiting_;
  }
  return ++lane.posted;
}

Lanes::Number Lanes::post_receive(int from, void* data, std::size_t bytes) {
  Incoming& lane = incoming(from);
  lane.waiting.push_back({static_cast<std::byte*>(data), bytes});
  ++waiting_;
  return ++lane.posted;
}

void Lanes::wait_sent(int to, Number number) {
  Outgoing& lane = outgoing(to);
  const auto is_sent = [&] {
    if (lane.written < number) return false;
    // Short messages were copied into their slots, so that only the longer ones up to this one are waited for.
    const Number needed = lane.last_long < number ? lane.last_long : number;
    return lane.lane->taken.load(std::memory_order_acquire) >= needed;
  };
  for (Patience patience; !is_sent(); patience.look_again()) proceed();
}

void Lanes::wait_received(int from, Number number) {
  const Incoming& lane = incoming(from);
  for (Patience patience; lane.received < number; patience.look_again()) {
    while (lane.received < number && receive_next(from)) {
    }
    if (lane.received < number) proceed();
  }
}

}  // namespace commlens::transport::peer

#include "trace/fold.hpp"

#include <algorithm>
#include <iterator>

namespace commlens::profile {
namespace {

/// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

}  // namespace

void Times::add(const Times& other) {
  gap += other.gap;
  cpu += other.cpu;
  call += other.call;
  longest_gap = std::max(longest_gap, other.longest_gap);
  longest_call = std::max(longest_call, other.longest_call);
  calls += other.calls;
}

void Fold::start(const Sequence& sequence) {
  sequence_ = sequence;
  std::fill(std::begin(last_), std::end(last_), -1);
}

bool Fold::append(std::uint32_t event, const Times& times) {
  if (length() == sequence_.capacity) return false;
  push(event, times);
  if (!extend_loop()) make_loop();
  return true;
}

void Fold::push(std::uint32_t event, const Times& times) {
  const std::size_t index = (*sequence_.length)++;
  at(index) = {.hash = mixed(event),
               .body_hash = 0,
               .count = 1,
               .event = event,
               .first = 0,
               .length = 0,
               .depth = 0,
               .mark = static_cast<std::uint32_t>(*sequence_.pool_length),
               .previous = -1,
               .previous_loop = -1,
               .unused = 0,
               .times = times};
  link(index);
}

void Fold::link(std::size_t index) {
  std::int32_t& last = last_[at(index).hash % most_hashes];
  at(index).previous = last;
  last = static_cast<std::int32_t>(index);
}

void Fold::drop_last(std::size_t count) {
  *sequence_.pool_length = at(length() - count).mark;
  for (; count > 0; --count) {
    const Node& node = at(--*sequence_.length);
    last_[node.hash % most_hashes] = node.previous;
    if (node.is_loop()) last_loop_ = node.previous_loop;
  }
}

bool Fold::are_equal(const Node* left, const Node* right, std::size_t count) {
  for (std::size_t index = count; index-- > 0;) {
    if (left[index].hash != right[index].hash) return false;
  }
  return true;
}

void Fold::merge(Node* into, const Node* from, std::size_t count) {
  for (std::size_t index = 0; index < count; ++index) {
    if (into[index].is_loop()) {
      merge(body(into[index]), body(from[index]), into[index].length);
    } else {
      into[index].count += from[index].count;
      into[index].times.add(from[index].times);
    }
  }
}

void Fold::rehash(Node& loop) { loop.hash = mixed(loop.body_hash ^ mixed(~loop.count)); }

bool Fold::extend_loop() {
  int tried = 0;
  for (std::int32_t loop = last_loop_; loop >= 0 && tried < most_candidates; loop = at(loop).previous_loop, ++tried) {
    const auto index = static_cast<std::size_t>(loop);
    const std::size_t count = length() - 1 - index;
    if (count > longest_body) return false;
    if (at(index).length != count || !are_equal(body(at(index)), &at(index + 1), count)) continue;
    merge(body(at(index)), &at(index + 1), count);
    drop_last(count);
    // The loop is the last node now: its place in the lists of equal hashes changes with its count.
    last_[at(index).hash % most_hashes] = at(index).previous;
    ++at(index).count;
    rehash(at(index));
    link(index);
    return true;
  }
  return false;
}

bool Fold::make_loop() {
  const std::size_t last = length() - 1;
  int tried = 0;
  for (std::int32_t other = at(last).previous; other >= 0 && tried < most_candidates;
       other = at(static_cast<std::size_t>(other)).previous, ++tried) {
    const std::size_t count = last - static_cast<std::size_t>(other);
    if (count > longest_body || 2 * count > length()) return false;
    if (!are_equal(&at(length() - 2 * count), &at(length() - count), count)) continue;
    fold_two(count);
    return true;
  }
  return false;
}

/// The last nodes, and as many before them that are equal, become a loop.
void Fold::fold_two(std::size_t count) {
  const std::size_t first = length() - 2 * count;
  std::uint32_t depth = 0;
  std::uint64_t body_hash = 0;
  for (std::size_t index = first; index < first + count; ++index) {
    depth = std::max(depth, at(index).depth + 1);
    body_hash = mixed(body_hash ^ at(index).hash);
  }
  if (depth > deepest || at(first + count).mark + count > sequence_.pool_capacity) return;
  merge(&at(first), &at(first + count), count);
  drop_last(count);
  const auto place = static_cast<std::uint32_t>(*sequence_.pool_length);
  std::copy_n(&at(first), count, sequence_.pool + place);
  const std::uint32_t mark = at(first).mark;
  drop_last(count);
  *sequence_.pool_length = place + count;
  ++*sequence_.length;
  at(first) = {.hash = 0,
               .body_hash = body_hash,
               .count = 2,
               .event = Node::no_event,
               .first = place,
               .length = static_cast<std::uint32_t>(count),
               .depth = depth,
               .mark = mark,
               .previous = -1,
               .previous_loop = last_loop_,
               .unused = 0,
               .times = {}};
  rehash(at(first));
  link(first);
  last_loop_ = static_cast<std::int32_t>(first);
}

}  // namespace commlens::profile

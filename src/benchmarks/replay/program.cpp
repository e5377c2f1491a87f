#include "benchmarks/replay/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace commlens::replay {
namespace {

constexpr std::size_t most_pieces = INT_MAX;                ///< that a type of MPI can have
constexpr std::int64_t most_bytes = std::int64_t{1} << 50;  ///< beyond any memory

std::int64_t product(std::int64_t a, std::int64_t b) {
  if (b > 0 && a > most_bytes / b) throw TraceError("the trace has a message that no memory holds");
  return a * b;
}

std::size_t bytes_of(const Side& side, std::int64_t blocks, const std::vector<TraceType>& types) {
  if (side.has_counts) return side.packed;
  return side.type_number == Side::no_type ? 0 : span(product(side.count, blocks), types[side.type_number]);
}

}  // namespace

std::int64_t stride(const TraceType& type) { return std::max(type.size, type.extent); }

Pieces pieces_of(const TraceType& type) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(type.size, 1));
  const bool has_pieces = type.name.empty() && type.pieces > 1;
  const auto wanted = has_pieces ? std::min({static_cast<std::size_t>(type.pieces), size, most_pieces}) : 1;
  const std::size_t bytes = (size + wanted - 1) / wanted;
  const std::size_t count = (size + bytes - 1) / bytes;
  const std::size_t last = size - (count - 1) * bytes;
  const auto apart = static_cast<std::size_t>(stride(type));
  return {
      .count = count, .bytes = bytes, .last_bytes = last, .stride = count > 1 ? (apart - last) / (count - 1) : bytes};
}

std::size_t span(std::int64_t count, const TraceType& type) {
  if (count <= 0) return 0;
  product(count, stride(type));
  return static_cast<std::size_t>((count - 1) * stride(type)) + (type.size > 0 ? pieces_of(type).span() : 0);
}

std::int64_t blocks_to_send(Pattern pattern, const Shape& shape) {
  switch (pattern) {
    case Pattern::scatter:
    case Pattern::alltoall:
      return shape.peers;
    case Pattern::neighbor_alltoall:
      return shape.out_degree;
    default:
      return 1;
  }
}

std::int64_t blocks_to_receive(Pattern pattern, const Shape& shape) {
  switch (pattern) {
    case Pattern::gather:
    case Pattern::allgather:
    case Pattern::alltoall:
      return shape.peers;
    case Pattern::neighbor_allgather:
    case Pattern::neighbor_alltoall:
      return shape.in_degree;
    default:
      return 1;
  }
}

bool sends(const Arguments& call, const Shape& shape) {
  if (!call.send.is_used || call.send.in_place) return false;
  const bool has_root = call.function->pattern == Pattern::scatter;
  if (!has_root || shape.rank == Shape::unknown) return true;
  return shape.is_inter ? call.root == MPI_ROOT : call.root == shape.rank;
}

bool receives(const Arguments& call, const Shape& shape) {
  if (!call.receive.is_used || call.receive.in_place) return false;
  const Pattern pattern = call.function->pattern;
  const bool has_root = pattern == Pattern::gather || pattern == Pattern::reduce;
  if (!has_root || shape.rank == Shape::unknown) return true;
  return shape.is_inter ? call.root == MPI_ROOT : call.root == shape.rank;
}

Need need(const Arguments& call, const std::vector<TraceType>& types, const Shape& shape) {
  const Pattern pattern = call.function->pattern;
  Need need;
  if (pattern == Pattern::reduce_scatter || pattern == Pattern::reduce_scatter_block) {
    // What is sent is described by what all ranks receive.
    need.receive = bytes_of(call.receive, pattern == Pattern::reduce_scatter_block ? shape.size : 1, types);
    if (sends(call, shape)) need.send = need.receive;
    return need;
  }
  if (sends(call, shape)) need.send = bytes_of(call.send, blocks_to_send(pattern, shape), types);
  if (receives(call, shape)) need.receive = bytes_of(call.receive, blocks_to_receive(pattern, shape), types);
  return need;
}

std::size_t counted_bytes(const Arguments& call, const std::vector<TraceType>& types, const Shape& shape) {
  const Pattern pattern = call.function->pattern;
  const auto of = [&](const Side& side, std::int64_t blocks) {
    if (side.has_counts) return side.data_bytes;
    if (side.type_number == Side::no_type) return std::size_t{0};
    return static_cast<std::size_t>(side.count * blocks * types[side.type_number].size);
  };
  switch (pattern) {
    case Pattern::receive:
    case Pattern::mrecv:
      return 0;
    case Pattern::sendrecv_replace:
      return call.dest == MPI_PROC_NULL ? 0 : of(call.receive, 1);
    case Pattern::send:
    case Pattern::sendrecv:
      return call.dest == MPI_PROC_NULL ? 0 : of(call.send, 1);
    case Pattern::reduce_scatter:
      return of(call.receive, 1);
    case Pattern::reduce_scatter_block:
      return of(call.receive, shape.size);
    case Pattern::scatter:
      return call.receive.in_place ? 0 : of(call.receive, 1);
    case Pattern::allgather:
    case Pattern::gather:
      return call.send.in_place && call.receive.has_counts ? 0 : of(call.send.in_place ? call.receive : call.send, 1);
    default:
      return of(call.send.in_place ? call.receive : call.send, blocks_to_send(pattern, shape));
  }
}

Program::Program(const Trace& trace, std::size_t rank) : body_(&trace.body(rank)) {
  std::map<std::uint32_t, Arguments*> known;
  const auto times = trace.times(rank);
  for (const Node& node : body_->nodes) {
    if (node.times > 0) continue;
    const auto [entry, is_new] = known.try_emplace(node.event, nullptr);
    if (is_new) {
      if (auto call = decode(trace, trace.events[node.event], rank)) {
        entry->second = call.get();
        calls_.push_back(std::move(call));
      }
    }
    leaves_.push_back({entry->second, times[node.leaf]});
  }
  count_numbers(trace.ranks);
  bound_shapes(trace.ranks);
  place_buffers(trace.types);
}

bool Program::has_wildcards() const {
  return std::any_of(calls_.begin(), calls_.end(), [](const auto& call) {
    return call->source == MPI_ANY_SOURCE || call->receive_tag == MPI_ANY_TAG;
  });
}

bool Program::cancels() const {
  return std::any_of(calls_.begin(), calls_.end(),
                     [](const auto& call) { return call->function->pattern == Pattern::cancel; });
}

void Program::count_numbers(std::size_t ranks) {
  std::int64_t communicators = 1;
  std::int64_t slots = -1;
  std::int64_t messages = -1;
  for (const auto& call : calls_) {
    communicators = std::max({communicators, call->communicator, call->second_communicator, call->made_communicator});
    slots = std::max(slots, call->request);
    for (const std::int64_t request : call->requests) slots = std::max(slots, request);
    messages = std::max(messages, call->message);
  }
  shapes_.resize(static_cast<std::size_t>(communicators + 1));
  shapes_[0].size = shapes_[0].peers = static_cast<std::int64_t>(ranks);
  slots_.resize(static_cast<std::size_t>(slots + 1));
  messages_ = static_cast<std::size_t>(messages + 1);
}

/// Each communicator is as large as the largest that ever has its number. A split is at most as large as its parent.
void Program::bound_shapes(std::size_t ranks) {
  const auto is_larger = [&](const auto& call) { return bound_shape(*call, static_cast<std::int64_t>(ranks)); };
  while (std::count_if(calls_.begin(), calls_.end(), is_larger) > 0) continue;
}

/// Whether a bound has become larger.
bool Program::bound_shape(const Arguments& call, std::int64_t ranks) {
  if (call.function->pattern != Pattern::make_communicator || call.made_communicator < 0 || call.communicator < 0) {
    return false;
  }
  const Shape before = shapes_[static_cast<std::size_t>(call.made_communicator)];
  const Shape parent = shapes_[static_cast<std::size_t>(call.communicator)];
  Shape made{.size = parent.size, .peers = parent.peers};
  const std::string_view name = call.function->name;
  if (name.starts_with("MPI_Intercomm")) made.size = made.peers = ranks;
  if (name == "MPI_Comm_create_group" || (name == "MPI_Comm_create" && parent.size == parent.peers)) {
    made.size = made.peers = static_cast<std::int64_t>(call.group.size());
  }
  const auto length = [&](std::size_t array) { return static_cast<std::int64_t>(call.arrays[array].size()); };
  if (name == "MPI_Cart_create") made.in_degree = made.out_degree = 2 * std::int64_t{call.numbers[0]};
  if (name == "MPI_Cart_sub") made.in_degree = made.out_degree = 2 * length(0);
  if (name == "MPI_Graph_create") made.in_degree = made.out_degree = length(1);
  if (name == "MPI_Dist_graph_create") made.in_degree = made.out_degree = ranks;
  if (name == "MPI_Dist_graph_create_adjacent") {
    made.in_degree = call.numbers[0];
    made.out_degree = call.numbers[1];
  }
  if (name.starts_with("MPI_Comm_dup") || name.starts_with("MPI_Comm_idup")) {
    made.in_degree = parent.in_degree;
    made.out_degree = parent.out_degree;
  }
  Shape& bound = shapes_[static_cast<std::size_t>(call.made_communicator)];
  bound.size = std::max(before.size, made.size);
  bound.peers = std::max(before.peers, made.peers);
  bound.in_degree = std::max(before.in_degree, made.in_degree);
  bound.out_degree = std::max(before.out_degree, made.out_degree);
  return bound.size > before.size || bound.peers > before.peers || bound.in_degree > before.in_degree ||
         bound.out_degree > before.out_degree;
}

/// Calls that return at once have buffers of their slot, the others one for all of them.
void Program::place_buffers(const std::vector<TraceType>& types) {
  for (const auto& call : calls_) {
    const Pattern pattern = call->function->pattern;
    if (is_of_requests(pattern) || pattern == Pattern::make_communicator) continue;
    const bool has_slot = call->function->mode != Mode::blocking && call->request >= 0;
    Buffers& buffers = has_slot ? slots_[static_cast<std::size_t>(call->request)] : scratch_;
    const Shape shape = call->communicator >= 0 ? shapes_[static_cast<std::size_t>(call->communicator)] : Shape();
    Need needed = need(*call, types, shape);
    // A transport may want what is in place in two buffers.
    if (!has_slot && call->send.in_place) needed.send = needed.receive;
    if (!has_slot && call->receive.in_place) needed.receive = needed.send;
    buffers.send.bytes = std::max(buffers.send.bytes, needed.send);
    buffers.receive.bytes = std::max(buffers.receive.bytes, needed.receive);
  }
  const auto place = [&](Area& area) {
    area.begin = bytes_;
    bytes_ += aligned(area.bytes);
    product(static_cast<std::int64_t>(bytes_), 1);
  };
  place(scratch_.send);
  place(scratch_.receive);
  for (Buffers& slot : slots_) {
    place(slot.send);
    place(slot.receive);
  }
}

Recorded recorded(const Trace& trace) {
  std::vector<std::uint8_t> executes(trace.events.size());
  for (std::size_t i = 0; i < executes.size(); ++i) executes[i] = decode(trace, trace.events[i], 0) != nullptr ? 1 : 0;
  Recorded sums;
  std::map<std::size_t, double> not_replayed;
  for (std::size_t rank = 0; rank < trace.ranks; ++rank) {
    double of_rank = 0;
    const auto times = trace.times(rank);
    for (const Node& node : trace.body(rank).nodes) {
      if (node.times > 0) continue;
      const LeafTimes& leaf = times[node.leaf];
      const double seconds = static_cast<double>(leaf.call_ns) * 1e-9;
      of_rank += seconds;
      sums.calls += static_cast<double>(leaf.calls);
      if (executes[node.event] == 0) not_replayed[trace.events[node.event].function] += seconds;
    }
    sums.call_s_of_rank.push_back(of_rank);
    sums.call_s += of_rank;
  }
  double most = -1;
  for (const auto& [function, seconds] : not_replayed) {
    sums.not_replayed_s += seconds;
    if (seconds > most) sums.not_replayed = trace.functions[function].name;
    most = std::max(most, seconds);
  }
  return sums;
}

}  // namespace commlens::replay

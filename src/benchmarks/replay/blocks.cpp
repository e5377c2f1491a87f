#include "benchmarks/replay/blocks.hpp"

#include <algorithm>
#include <optional>

#include "transport/communicator.hpp"

namespace commlens::replay {
namespace {

/// Joins ranges that are adjacent.
class Ranges {
 public:
  Ranges(const std::vector<TraceType>& types, const VisitRange& visit) : types_(types), visit_(visit) {}
  Ranges(Ranges&&) = delete;
  ~Ranges() = default;

  void add(const Side& side, std::int64_t number) { add(block_of(side, number, types_)); }
  void add(const Block& block) {
    if (block.bytes == 0) return;
    add(block.begin, block.place(block.bytes - 1) + 1);
  }
  void add(const Side& side, std::int64_t first, std::int64_t end, std::optional<std::int64_t> without) {
    for (std::int64_t number = first; number < end; ++number) {
      if (number != without) add(side, number);
    }
  }
  void add(void* data, std::size_t bytes) {
    auto* const begin = static_cast<std::byte*>(data);
    if (begin != begin_ + bytes_) finish();
    if (bytes_ == 0) begin_ = begin;
    bytes_ += bytes;
  }
  void finish() {
    if (bytes_ > 0) visit_(begin_, bytes_);
    bytes_ = 0;
  }

 private:
  const std::vector<TraceType>& types_;
  const VisitRange& visit_;
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

/// In an operation with a root.
enum class Part { none, root, other };

Part part_of(const Arguments& call, const Shape& shape) {
  if (!shape.is_inter) return call.root == shape.rank ? Part::root : Part::other;
  if (call.root == MPI_ROOT) return Part::root;
  return call.root == MPI_PROC_NULL ? Part::none : Part::other;
}

/// The root of an intercommunicator has no block of its own.
bool gives(Part part, const Shape& shape) { return part == Part::other || (part == Part::root && !shape.is_inter); }

/// What a rank keeps in its place.
std::optional<std::int64_t> own_block(bool in_place, const Shape& shape) {
  return in_place ? std::optional<std::int64_t>(shape.rank) : std::nullopt;
}

void add_input(Ranges& ranges, const Arguments& call, const Need& bytes) {
  call.send.in_place ? ranges.add(call.receive.data, bytes.receive) : ranges.add(call.send.data, bytes.send);
}

void add_sent_of_collective(Ranges& ranges, const Arguments& call, const Shape& shape, const Need& bytes) {
  const Part part = part_of(call, shape);
  const bool in_place = call.send.in_place;
  switch (call.function->pattern) {
    case Pattern::bcast:
      if (part == Part::root) ranges.add(call.send, 0);
      break;
    case Pattern::gather:
      if (gives(part, shape) && !in_place) ranges.add(call.send, 0);
      break;
    case Pattern::allgather:
      in_place ? ranges.add(call.receive, shape.rank) : ranges.add(call.send, 0);
      break;
    case Pattern::scatter:
      if (part == Part::root) ranges.add(call.send, 0, shape.peers, own_block(call.receive.in_place, shape));
      break;
    case Pattern::alltoall:
      ranges.add(in_place ? call.receive : call.send, 0, shape.peers, own_block(in_place, shape));
      break;
    case Pattern::reduce:
      if (gives(part, shape)) add_input(ranges, call, bytes);
      break;
    case Pattern::neighbor_allgather:
      ranges.add(call.send, 0);
      break;
    case Pattern::neighbor_alltoall:
      ranges.add(call.send, 0, shape.out_degree, std::nullopt);
      break;
    default:  // other reductions
      add_input(ranges, call, bytes);
  }
}

void add_received_of_collective(Ranges& ranges, const Arguments& call, const Shape& shape, const Need& bytes) {
  const Part part = part_of(call, shape);
  const Side& output = call.receive;
  switch (call.function->pattern) {
    case Pattern::bcast:
      if (part == Part::other) ranges.add(call.send, 0);
      break;
    case Pattern::gather:
      if (part == Part::root) ranges.add(output, 0, shape.peers, own_block(call.send.in_place, shape));
      break;
    case Pattern::allgather:
    case Pattern::alltoall:
      ranges.add(output, 0, shape.peers, own_block(call.send.in_place, shape));
      break;
    case Pattern::scatter:
      if (gives(part, shape) && !output.in_place) ranges.add(output, 0);
      break;
    case Pattern::reduce:
      if (part == Part::root) ranges.add(output.data, bytes.receive);
      break;
    case Pattern::reduce_scatter: {  // its block alone, at the begin
      Side own = output;
      own.has_counts = false;
      own.count = output.wide_counts[static_cast<std::size_t>(shape.rank)];
      ranges.add(own, 0);
      break;
    }
    case Pattern::reduce_scatter_block:
      ranges.add(output, 0);
      break;
    case Pattern::exscan:
      if (shape.rank > 0) ranges.add(output.data, bytes.receive);
      break;
    case Pattern::neighbor_allgather:
    case Pattern::neighbor_alltoall:
      for (std::int64_t number = 0; number < shape.in_degree; ++number) {
        if (shape.has_neighbor(number)) ranges.add(output, number);
      }
      break;
    default:
      ranges.add(output.data, bytes.receive);
  }
}

}  // namespace

std::optional<MPI_Count> message_bytes(const MPI_Status& status) {
  int is_cancelled = 0;
  CALL_MPI(PMPI_Test_cancelled, &status, &is_cancelled);
  if (is_cancelled != 0) return std::nullopt;
  MPI_Count bytes = 0;
  MPI_Status own = status;  // SMPI's function wants one that may change
  CALL_MPI(PMPI_Get_elements_x, &own, MPI_BYTE, &bytes);
  return bytes;
}

Block block_of(const Side& side, std::int64_t number, const std::vector<TraceType>& types) {
  Block block;
  const auto index = static_cast<std::size_t>(number);
  const std::size_t type = side.type_numbers.empty() ? side.type_number : side.type_numbers[index];
  if (type == Side::no_type) return block;
  const TraceType& known = types[type];
  const auto apart = static_cast<std::size_t>(stride(known));
  const auto count = static_cast<std::size_t>(side.has_counts ? side.wide_counts[index] : side.count);
  std::size_t offset = index * count * apart;
  if (side.has_counts) {
    const auto place = static_cast<std::size_t>(side.wide_displacements[index]);
    offset = side.type_numbers.empty() ? place * apart : place;
  }
  block.begin = static_cast<std::byte*>(side.data) + offset;
  block.bytes = count * static_cast<std::size_t>(known.size);
  block.size = std::max<std::size_t>(static_cast<std::size_t>(known.size), 1);
  block.stride = std::max<std::size_t>(apart, 1);
  const Pieces pieces = pieces_of(known);
  block.piece = pieces.bytes;
  block.piece_stride = pieces.stride;
  return block;
}

void for_each_sent(const Arguments& call, const Shape& shape, const std::vector<TraceType>& types,
                   const VisitRange& visit) {
  Ranges ranges(types, visit);
  const Pattern pattern = call.function->pattern;
  if (pattern == Pattern::send || pattern == Pattern::sendrecv) {
    if (call.dest != MPI_PROC_NULL) ranges.add(call.send, 0);
  } else if (pattern == Pattern::sendrecv_replace) {
    if (call.dest != MPI_PROC_NULL) ranges.add(call.receive, 0);
  } else if (is_collective(pattern) && pattern != Pattern::barrier) {
    add_sent_of_collective(ranges, call, shape, need(call, types, shape));
  }
  ranges.finish();
}

void for_each_received(const Arguments& call, const Shape& shape, const std::vector<TraceType>& types,
                       const MPI_Status& status, const VisitRange& visit) {
  Ranges ranges(types, visit);
  const Pattern pattern = call.function->pattern;
  if (pattern == Pattern::barrier) return;
  if (is_collective(pattern)) {
    add_received_of_collective(ranges, call, shape, need(call, types, shape));
  } else if (pattern == Pattern::mrecv || (receives_message(pattern) && call.source != MPI_PROC_NULL)) {
    Block block = block_of(call.receive, 0, types);
    block.bytes =
        std::min(block.bytes, static_cast<std::size_t>(std::max<MPI_Count>(message_bytes(status).value_or(0), 0)));
    ranges.add(block);
  }
  ranges.finish();
}

}  // namespace commlens::replay

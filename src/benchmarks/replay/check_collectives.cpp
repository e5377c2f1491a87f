// What collectives carry in a validated replay.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include "benchmarks/replay/checker.hpp"
#include "device/upload.hpp"
#include "harness/pattern.hpp"

namespace commlens::replay {
namespace {

constexpr std::int64_t all_ranks = -1;

/// Of the block that goes from rank to rank, or to all of them.
std::uint64_t block_seed(const Ticket& ticket, std::int64_t from, std::int64_t to) {
  return pattern::seed(ticket.id, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to));
}

bool is_root(const Arguments& call, const Ticket& ticket) { return call.root == ticket.shape.rank; }

}  // namespace

/// Those of intercommunicators and of neighbors are executed, and not checked.
void Checker::fill_collective(const Arguments& call, Ticket& ticket) {
  const Pattern pattern = call.function->pattern;
  const std::int64_t mine = ticket.shape.rank;
  const std::int64_t ranks = ticket.shape.size;
  if (pattern == Pattern::barrier) return;
  if (ticket.shape.is_inter || is_neighbor(pattern)) {
    ++unchecked_;
    return;
  }
  ticket.is_checked = true;
  const Side& input = call.send.in_place ? call.receive : call.send;
  switch (pattern) {
    case Pattern::bcast: {
      const Block data = block(call.send, 0);
      if (is_root(call, ticket)) {
        write(stream_, data, block_seed(ticket, mine, all_ranks));
      } else {
        clear(stream_, data.begin, need(call, trace_.types, ticket.shape).send);
      }
      break;
    }
    case Pattern::gather:
    case Pattern::allgather:
      write(stream_, block(input, call.send.in_place ? mine : 0), block_seed(ticket, mine, all_ranks));
      break;
    case Pattern::scatter:
      for (std::int64_t to = 0; is_root(call, ticket) && to < ranks; ++to) {
        write(stream_, block(call.send, to), block_seed(ticket, mine, to));
      }
      break;
    default:  // an all-to-all
      for (std::int64_t to = 0; to < ranks; ++to) write(stream_, block(input, to), block_seed(ticket, mine, to));
  }
}

void Checker::end_collective(const Arguments& call, const Ticket& ticket) {
  const Pattern pattern = call.function->pattern;
  const std::int64_t mine = ticket.shape.rank;
  const std::int64_t ranks = ticket.shape.size;
  const auto of = [](std::int64_t rank) { return fmt::format("the block of rank {}", rank); };
  switch (pattern) {
    case Pattern::bcast:
      return compare(call, of(call.root), block(call.send, 0), block_seed(ticket, call.root, all_ranks));
    case Pattern::scatter:
      if (call.receive.in_place) return;
      return compare(call, of(call.root), block(call.receive, 0), block_seed(ticket, call.root, mine));
    case Pattern::gather:
      if (!is_root(call, ticket)) return;
      break;
    default:
      break;
  }
  const bool is_for_all = pattern != Pattern::alltoall;
  for (std::int64_t from = 0; from < ranks; ++from) {
    compare(call, of(from), block(call.receive, from), block_seed(ticket, from, is_for_all ? all_ranks : mine));
  }
}

std::optional<ExactReduction> Checker::exact(const Arguments& call) const {
  const std::size_t type = call.receive.type_number;
  if (type == Side::no_type || call.operation_number == Arguments::no_operation) return std::nullopt;
  return ExactReduction::of(trace_.types[type], trace_.operations[call.operation_number]);
}

void Checker::fill_reduction(const Arguments& call, Ticket& ticket) {
  const auto reduction = exact(call);
  if (!reduction || ticket.shape.is_inter) {
    ++unchecked_;
    const Side& input = call.send.in_place ? call.receive : call.send;
    const Need bytes = need(call, trace_.types, ticket.shape);
    if (input.data != nullptr) clear(stream_, input.data, std::max(bytes.send, call.send.in_place ? bytes.receive : 0));
    return;
  }
  ticket.is_checked = true;
  const Pattern pattern = call.function->pattern;
  std::int64_t count = call.send.count;
  if (pattern == Pattern::reduce_scatter_block) count = call.receive.count * ticket.shape.size;
  if (pattern == Pattern::reduce_scatter) {
    count = std::accumulate(call.receive.wide_counts.begin(), call.receive.wide_counts.end(), std::int64_t{0});
  }
  const auto numbers = reduction->contribution(0, static_cast<std::size_t>(count), ticket.shape.rank, ticket.id);
  device::upload(numbers, call.send.in_place ? call.receive.data : call.send.data, stream_);
}

void Checker::end_reduction(const Arguments& call, const Ticket& ticket) {
  const Pattern pattern = call.function->pattern;
  const std::int64_t mine = ticket.shape.rank;
  std::int64_t ranks = ticket.shape.size;
  std::int64_t first = 0;
  std::int64_t count = call.receive.count;
  if (pattern == Pattern::reduce && !is_root(call, ticket)) return;
  if (pattern == Pattern::scan) ranks = mine + 1;
  if (pattern == Pattern::exscan) ranks = mine;
  if (ranks == 0) return;  // MPI leaves undefined what the first rank gets
  if (pattern == Pattern::reduce_scatter_block) first = mine * count;
  if (pattern == Pattern::reduce_scatter) {
    const auto& counts = call.receive.wide_counts;
    first = std::accumulate(counts.begin(), counts.begin() + mine, std::int64_t{0});
    count = counts[static_cast<std::size_t>(mine)];
  }
  const auto reduction = exact(call);
  if (!reduction) return;
  const auto expected =
      reduction->result(static_cast<std::size_t>(first), static_cast<std::size_t>(count), ranks, ticket.id);
  const auto found = device::download(static_cast<const std::byte*>(call.receive.data), expected.size(), stream_);
  bytes_ += expected.size();
  const auto [wrong, right] = std::mismatch(found.begin(), found.end(), expected.begin());
  if (wrong == found.end()) return;
  note(call, trace_.operations[call.operation_number],
       fmt::format("byte {} of {} is {}, must be {}", wrong - found.begin(), found.size(), std::to_integer<int>(*wrong),
                   std::to_integer<int>(*right)));
}

}  // namespace commlens::replay

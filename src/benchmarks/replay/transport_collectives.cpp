#include "benchmarks/replay/transport_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string>
#include <string_view>

#include "benchmarks/replay/blocks.hpp"
#include "benchmarks/replay/reductions.hpp"
#include "transport/communicator.hpp"

namespace commlens::replay {
namespace {

using transport::Collective;
using transport::Reduction;

using Kind = transport::Operation;

std::optional<DataType> data_type(const TraceType& type) {
  const auto kind = number_kind(type.name);
  if (!kind || type.extent != type.size) return std::nullopt;
  struct Known {
    NumberKind kind;
    std::int64_t size;
    DataType type;
  };
  constexpr std::array<Known, 8> known{{{NumberKind::integer, 1, DataType::i8},
                                        {NumberKind::integer, 4, DataType::i32},
                                        {NumberKind::integer, 8, DataType::i64},
                                        {NumberKind::natural, 1, DataType::u8},
                                        {NumberKind::real, 4, DataType::f32},
                                        {NumberKind::real, 8, DataType::f64},
                                        {NumberKind::complex, 8, DataType::c64},
                                        {NumberKind::complex, 16, DataType::c128}}};
  for (const Known& one : known) {
    if (one.kind == *kind && one.size == type.size) return one.type;
  }
  return std::nullopt;
}

/// MPI_SUM is sum. Others than MPI's have no such name.
std::optional<Reduction> reduction_of(std::string_view operation) {
  if (!operation.starts_with("MPI_")) return std::nullopt;
  std::string lower(operation.substr(4));
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return from_name<Reduction>(lower);
}

Kind operation_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::barrier:
      return Kind::barrier;
    case Pattern::bcast:
      return Kind::broadcast;
    case Pattern::gather:
      return Kind::gather;
    case Pattern::scatter:
      return Kind::scatter;
    case Pattern::allgather:
      return Kind::allgather;
    case Pattern::alltoall:
      return Kind::alltoall;
    case Pattern::reduce:
      return Kind::reduce;
    case Pattern::allreduce:
      return Kind::allreduce;
    case Pattern::reduce_scatter:
    case Pattern::reduce_scatter_block:
      return Kind::reduce_scatter;
    case Pattern::scan:
      return Kind::scan;
    default:
      return Kind::exclusive_scan;
  }
}

bool has_counts(const Arguments& call) { return call.send.has_counts || call.receive.has_counts; }

/// Where MPI has input and output in place as all transports have them.
bool has_form_in_place(Kind kind) {
  return kind == Kind::reduce || kind == Kind::allreduce || kind == Kind::gather || kind == Kind::allgather ||
         kind == Kind::scatter;
}

bool is_in_place(const Arguments& call) { return call.send.in_place || call.receive.in_place; }

bool has_root(Kind kind) { return kind == Kind::reduce || kind == Kind::gather || kind == Kind::scatter; }

/// Of an operation with a root, only that one can be in place: the others have no buffer for it.
Collective collective_of(const TransportCollectives::Agreed& agreed, const Arguments& call, const Shape& shape,
                         bool is_form_in_place) {
  const bool in_place = is_form_in_place && (!has_root(agreed.operation) || shape.rank == agreed.root);
  Collective collective{
      .operation = agreed.operation,
      .shape = {.rank = shape.rank, .ranks = static_cast<int>(shape.size), .root = agreed.root, .count = agreed.count},
      .type = agreed.type,
      .reduction = agreed.reduction,
      .in_place = in_place || agreed.operation == Kind::broadcast,
      .input = call.send.data,
      .output = call.receive.data};
  const auto own = static_cast<std::ptrdiff_t>(collective.shape.begin(shape.rank) * size_of(agreed.type));
  if (agreed.operation == Kind::broadcast) {
    collective.output = call.send.data;
  } else if (in_place && agreed.operation == Kind::scatter) {
    collective.output = static_cast<std::byte*>(call.send.data) + own;
  } else if (in_place) {
    const bool has_blocks = agreed.operation == Kind::gather || agreed.operation == Kind::allgather;
    collective.input = static_cast<std::byte*>(call.receive.data) + (has_blocks ? own : 0);
  }
  return collective;
}

/// Whether `from` sends a block to `to`, of which one is this rank.
bool has_message(const Arguments& call, std::int64_t from, std::int64_t to) {
  if (call.function->pattern == Pattern::gather) return to == call.root;
  return call.function->pattern != Pattern::scatter || from == call.root;
}

/// Of a collective with a count for each rank. An all-to-all in place sends from a copy.
Block block_to(std::int64_t peer, const Arguments& call, const Shape& shape, const std::vector<TraceType>& types) {
  const Pattern pattern = call.function->pattern;
  const bool in_place = is_in_place(call);
  if (pattern == Pattern::allgather && in_place) return block_of(call.receive, shape.rank, types);
  if (pattern == Pattern::alltoall && in_place) {
    Side copied = call.receive;
    copied.data = call.send.data;
    return block_of(copied, peer, types);
  }
  const bool is_for_peer = pattern == Pattern::scatter || pattern == Pattern::alltoall;
  return block_of(call.send, is_for_peer ? peer : 0, types);
}

}  // namespace

TransportCollectives::TransportCollectives(Run& run, const Trace& trace) : run_(run), trace_(trace) {
  for (const TraceEvent& event : trace.events) {
    const auto call = decode(trace, event, static_cast<std::size_t>(run.rank()));
    if (call == nullptr || !is_collective(call->function->pattern)) continue;
    if (has_gaps(call->send) || has_gaps(call->receive)) with_gaps_.insert(alike(*call));
  }
  run.transport().while_waiting([this] { progress_mpi(); });
}

/// In the reverse order of their making, which is the same on all ranks of two communicators.
TransportCollectives::~TransportCollectives() {
  groups_.clear();
  while (!splits_.empty()) splits_.pop_back();
  run_.transport().while_waiting({});
}

bool TransportCollectives::has_gaps(const Side& side) const {
  const auto has = [&](std::size_t number) {
    return number != Side::no_type && trace_.types[number].size != stride(trace_.types[number]);
  };
  return has(side.type_number) || std::any_of(side.type_numbers.begin(), side.type_numbers.end(), has);
}

/// Of one block, which all ranks know.
std::size_t TransportCollectives::block_bytes(const Arguments& call) const {
  const bool by_sender = call.receive.in_place || !call.receive.is_used ||
                         (call.function->pattern == Pattern::gather && !call.send.in_place);
  const Side& side = by_sender ? call.send : call.receive;
  if (side.type_number == Side::no_type) return 0;
  return static_cast<std::size_t>(side.count * trace_.types[side.type_number].size);
}

TransportCollectives::Alike TransportCollectives::alike(const Arguments& call) const {
  std::string_view name = call.function->name;
  if (call.function->is_large) name.remove_suffix(2);  // "_c"
  return {name, has_counts(call) ? 0 : block_bytes(call)};
}

std::optional<TransportCollectives::Agreed> TransportCollectives::agreed_reduction(const Arguments& call,
                                                                                   const Shape& shape) const {
  const std::size_t type = call.receive.type_number;
  if (type == Side::no_type || call.operation_number == Arguments::no_operation) return std::nullopt;
  const auto numbers = data_type(trace_.types[type]);
  const auto reduction = reduction_of(trace_.operations[call.operation_number]);
  if (!numbers || !reduction) return std::nullopt;
  std::int64_t count = call.receive.count;
  if (call.function->pattern == Pattern::reduce_scatter) {
    const auto& counts = call.receive.wide_counts;
    count = counts.front();
    const auto end = counts.begin() + shape.size;
    if (std::any_of(counts.begin(), end, [&](std::int64_t other) { return other != count; })) return std::nullopt;
  }
  return Agreed{.operation = operation_of(call.function->pattern),
                .count = static_cast<std::size_t>(count),
                .type = *numbers,
                .reduction = *reduction,
                .root = call.root};
}

std::optional<TransportCollectives::Agreed> TransportCollectives::agreed(const Arguments& call,
                                                                         const Shape& shape) const {
  const Pattern pattern = call.function->pattern;
  if (is_reduction(pattern)) return agreed_reduction(call, shape);
  if (pattern == Pattern::barrier) return Agreed{};
  if (has_counts(call)) return Agreed{.operation = Kind::alltoallv};
  return Agreed{.operation = operation_of(pattern), .count = block_bytes(call), .root = call.root};
}

void TransportCollectives::assign(const Arguments& call, const CommunicatorEntry& communicator, const Shape& shape) {
  const auto stays = reason_to_stay(call, communicator, shape);
  const auto bytes = static_cast<double>(counted_bytes(call, trace_.types, shape));
  all_.calls += 1;
  all_.bytes += bytes;
  if (stays) {
    staying_[static_cast<std::size_t>(*stays)] += 1;
    return;
  }
  assigned_.calls += 1;
  assigned_.bytes += bytes;
}

std::optional<Stays> TransportCollectives::reason_to_stay(const Arguments& call, const CommunicatorEntry& communicator,
                                                          const Shape& shape) {
  if (call.function->mode != Mode::blocking) return Stays::does_not_block;
  if (shape.is_inter) return Stays::of_two_groups;
  if (is_neighbor(call.function->pattern)) return Stays::of_neighbors;
  if (shape.size == 1) return Stays::of_one_rank;
  if (!is_reduction(call.function->pattern) && with_gaps_.contains(alike(call))) return Stays::has_gaps;
  Group& group = group_of(communicator);
  if (group.transport == nullptr) return Stays::of_sub_communicator;
  const auto [known, is_new] = group.of_call.try_emplace(&call, nullptr);
  if (is_new) known->second = make(group, call, shape);
  return known->second == nullptr ? std::optional(Stays::unsupported) : std::nullopt;
}

TransportCollectives::Group& TransportCollectives::group_of(const CommunicatorEntry& communicator) {
  if (by_order_.size() <= communicator.order) by_order_.resize(communicator.order + 1);
  Group*& known = by_order_[communicator.order];
  if (known != nullptr) return *known;
  const std::vector<int> members = run_.communicator().ranks_of(communicator.handle);
  const auto [entry, is_new] = groups_.try_emplace(members);
  known = &entry->second;
  if (!is_new) return *known;
  std::vector<int> all(static_cast<std::size_t>(run_.ranks()));
  std::iota(all.begin(), all.end(), 0);
  if (members == all) {
    known->transport = &run_.transport();
  } else if (run_.transport().can_split()) {
    splits_.push_back(run_.transport().split(transport::Communicator(communicator.handle)));
    known->transport = splits_.back().get();
  }
  return *known;
}

const TransportCollectives::Operation* TransportCollectives::make(Group& group, const Arguments& call,
                                                                  const Shape& shape) {
  const auto wanted = agreed(call, shape);
  if (!wanted) return nullptr;
  transport::Transport& transport = *group.transport;
  const Collective collective = collective_of(*wanted, call, shape, false);
  if (!transport.unsupported(collective, transport::CallMode::blocking).empty()) return nullptr;
  if (has_counts(call) && !is_reduction(call.function->pattern)) {
    return &(group.with_counts[&call] = {
                 .agreed = *wanted, .with_two_buffers = messages(transport, call, shape), .in_place = nullptr});
  }
  const auto [known, is_new] = group.operations.try_emplace(*wanted);
  Operation& operation = known->second;
  if (!is_new) return &operation;
  operation.agreed = *wanted;
  operation.with_two_buffers = transport.collective(collective, transport::CallMode::blocking);
  if (has_form_in_place(wanted->operation)) {
    operation.in_place = transport.collective(collective_of(*wanted, call, shape, true), transport::CallMode::blocking);
  }
  return &operation;
}

/// Ranks begin with different peers, so that not all of them access the memory of one at the same time.
std::unique_ptr<transport::Exchange> TransportCollectives::messages(transport::Transport& transport,
                                                                    const Arguments& call, const Shape& shape) const {
  const Pattern pattern = call.function->pattern;
  const bool keeps_own = is_in_place(call) && pattern != Pattern::alltoall;
  std::vector<transport::Message> sends;
  std::vector<transport::Message> receives;
  const auto add = [](std::vector<transport::Message>& list, std::int64_t peer, const Block& block) {
    if (block.bytes > 0) list.push_back({static_cast<int>(peer), block.begin, block.bytes});
  };
  for (std::int64_t step = keeps_own ? 1 : 0; step < shape.size; ++step) {
    const std::int64_t to = (shape.rank + step) % shape.size;
    const std::int64_t from = (shape.rank + shape.size - step) % shape.size;
    if (has_message(call, shape.rank, to)) add(sends, to, block_to(to, call, shape, trace_.types));
    if (has_message(call, from, shape.rank)) {
      add(receives, from, block_of(call.receive, pattern == Pattern::scatter ? 0 : from, trace_.types));
    }
  }
  return transport.exchange(std::move(sends), std::move(receives));
}

const TransportCollectives::Operation* TransportCollectives::find(const Arguments& call,
                                                                  const CommunicatorEntry& communicator) const {
  if (call.function->mode != Mode::blocking || !is_collective(call.function->pattern)) return nullptr;
  if (communicator.order >= by_order_.size()) return nullptr;
  const Group* const group = by_order_[communicator.order];
  if (group == nullptr) return nullptr;
  const auto known = group->of_call.find(&call);
  return known == group->of_call.end() ? nullptr : known->second;
}

void TransportCollectives::run(const Arguments& call, const Shape& shape, const Operation& operation) {
  auto& stream = run_.stream();
  const bool in_place = is_in_place(call);
  const Kind kind = operation.agreed.operation;
  const bool is_copied =
      kind == Kind::alltoallv ? call.function->pattern == Pattern::alltoall : operation.in_place == nullptr;
  if (in_place && is_copied) {
    stream.copy(call.send.data, call.receive.data, need(call, trace_.types, shape).receive);
  }
  const bool uses_form = in_place && operation.in_place != nullptr;
  (uses_form ? operation.in_place : operation.with_two_buffers)->run(stream);
  while (!stream.complete()) progress_mpi();
}

/// A rank that is here may owe others messages by MPI, for which they wait before they come.
void TransportCollectives::progress_mpi() const {
  int flag = 0;
  CALL_MPI(PMPI_Iprobe, MPI_ANY_SOURCE, MPI_ANY_TAG, run_.communicator().handle(), &flag, MPI_STATUS_IGNORE);
}

void TransportCollectives::require_some() const {
  const auto& communicator = run_.communicator();
  if (communicator.sum_of_reals(assigned_.calls) > 0) return;
  std::string reasons;
  for (const auto& [stays, text] : names_of(Stays{})) {
    const double calls = communicator.sum_of_reals(staying_[static_cast<std::size_t>(stays)]);
    if (calls > 0) reasons += fmt::format("{}{:.0f} {}", reasons.empty() ? "" : ", ", calls, text);
  }
  if (reasons.empty()) throw Unsupported("the program calls no collective: the replay is that with --transport mpi");
  throw Unsupported(fmt::format("all calls of collectives stay with MPI: {}", reasons));
}

double TransportCollectives::share_of_calls() const {
  const auto& communicator = run_.communicator();
  return communicator.sum_of_reals(assigned_.calls) / communicator.sum_of_reals(all_.calls);
}

double TransportCollectives::share_of_bytes() const {
  const auto& communicator = run_.communicator();
  const double all = communicator.sum_of_reals(all_.bytes);
  return all > 0 ? communicator.sum_of_reals(assigned_.bytes) / all : 0;
}

}  // namespace commlens::replay

#include "benchmarks/replay/call_log.hpp"

#include <string_view>
#include <tuple>

#include "base/clock.hpp"

namespace commlens::replay {
namespace {

Action action_of_send(std::string_view function) {
  const auto has = [&](std::string_view part) { return function.find(part) != std::string_view::npos; };
  if (has("Ssend") || has("ssend")) return Action::synchronous_send;
  return has("Bsend") || has("bsend") ? Action::buffered_send : Action::send;
}

/// Nothing: this rank takes part, but what it awaits is not known.
std::optional<Action> action_of_collective(const Arguments& call, const Shape& shape) {
  if (shape.is_inter) return std::nullopt;
  switch (call.function->pattern) {
    case Pattern::bcast:
    case Pattern::scatter:
      return Action::root_to_all;
    case Pattern::gather:
    case Pattern::reduce:
      return Action::all_to_root;
    case Pattern::scan:
    case Pattern::exscan:
      return Action::scan;
    case Pattern::neighbor_allgather:
    case Pattern::neighbor_alltoall:
      return Action::neighbors;
    case Pattern::make_communicator: {
      const std::string_view name = call.function->name;
      if (name == "MPI_Comm_create_group" || name.starts_with("MPI_Intercomm")) return std::nullopt;
      return Action::all_to_all;
    }
    default:
      return Action::all_to_all;
  }
}

}  // namespace

CallLog::CallLog(MPI_Comm world, bool has_wildcards, std::size_t most_calls)
    : world_ranks_(world), order_(has_wildcards), most_calls_(most_calls) {}

void CallLog::start() { log_.start_s = SteadyClock::seconds(); }

void CallLog::finish() {
  count_last_call();
  log_.end_s = is_full_ ? log_.calls.back().exit_s : SteadyClock::seconds();
  keep_calls(log_, log_.calls.size());  // a call for which there was no room
}

bool CallLog::has_room() {
  is_full_ = is_full_ || log_.calls.size() >= most_calls_ || log_.operations.size() >= 2 * most_calls_;
  return !is_full_;
}

/// Tests without result that follow each other are one call.
void CallLog::entered(const Arguments& call) {
  const bool goes_on = &call == last_ && found_nothing(call);
  last_ = &call;
  if (goes_on || !has_room()) return;
  count_last_call();
  log_.calls.push_back({.enter_s = 0, .exit_s = 0, .found_nothing = found_nothing(call)});
  log_.calls.back().enter_s = SteadyClock::seconds();
}

void CallLog::left() {
  if (!is_full_) log_.calls.back().exit_s = SteadyClock::seconds();
}

/// Once it is over: of a call that completes requests the communicator is known then.
void CallLog::count_last_call() {
  if (counted_ == log_.calls.size()) return;
  counted_ = log_.calls.size();
  const CommunicatorName name = std::exchange(communicator_, nowhere);
  if (name.first < 0) return;
  const auto known = communicators_.try_emplace(name, Communicator{.id = id_}).first;
  known->second.seconds += log_.calls.back().exit_s - log_.calls.back().enter_s;
}

/// The last call.
void CallLog::is_in(std::int64_t number, std::int64_t ranks, std::uint64_t id) {
  communicator_ = {number, ranks};
  id_ = id;
}

Ticket CallLog::begin(const Arguments& call, CommunicatorEntry& communicator, const Shape& shape,
                      const Need& /*bytes*/) {
  Ticket ticket{.id = communicator.id, .shape = shape};
  if (call.function->mode != Mode::persistent) add(call, communicator, ticket);
  return ticket;
}

void CallLog::begin_again(const Arguments& call, CommunicatorEntry& communicator, Ticket& ticket,
                          const Need& /*bytes*/) {
  add(call, communicator, ticket);
}

void CallLog::add(const Arguments& call, CommunicatorEntry& communicator, Ticket& ticket) {
  ticket.operation = log_.operations.size();
  ticket.operations = 0;
  if (!has_room()) return;
  count_last_call();
  is_in(call.communicator, ticket.shape.size, communicator.id);
  const Pattern pattern = call.function->pattern;
  if (is_collective(pattern) || pattern == Pattern::make_communicator) {
    add_collective(call, communicator, ticket);
  } else {
    add_messages(call, communicator, ticket);
  }
  ticket.operations = log_.operations.size() - ticket.operation;
}

void CallLog::add_messages(const Arguments& call, const CommunicatorEntry& communicator, Ticket& ticket) {
  const Pattern pattern = call.function->pattern;
  const auto& peers = world_ranks_.peers(communicator, ticket.shape);
  if (sends_message(pattern) && call.dest != MPI_PROC_NULL) {
    log_.operations.push_back({.action = action_of_send(call.function->name),
                               .communicator = communicator.id,
                               .number = order_.sent({communicator.id, call.dest, call.send_tag}),
                               .peer = peers[static_cast<std::size_t>(call.dest)],
                               .tag = call.send_tag,
                               .begin = next_call()});
  }
  if (receives_message(pattern) && call.source != MPI_PROC_NULL) {
    ticket.receive = order_.posted({communicator.id, call.source, call.receive_tag});
    log_.operations.push_back(
        {.action = Action::receive, .communicator = communicator.id, .tag = call.receive_tag, .begin = next_call()});
  }
}

void CallLog::add_collective(const Arguments& call, CommunicatorEntry& communicator, Ticket& ticket) {
  const auto action = action_of_collective(call, ticket.shape);
  if (!action) return;  // nor do all ranks of the communicator count it
  const std::uint64_t number = ++communicator.collectives;
  Operation operation{.action = *action,
                      .communicator = communicator.id,
                      .number = number,
                      .place = ticket.shape.rank,
                      .begin = next_call()};
  if (action == Action::root_to_all || action == Action::all_to_root) {
    operation.peer = world_ranks_.peers(communicator, ticket.shape)[static_cast<std::size_t>(call.root)];
  }
  if (action == Action::neighbors) add_sources(communicator, ticket.shape, operation);
  log_.operations.push_back(operation);
}

void CallLog::add_sources(const CommunicatorEntry& communicator, const Shape& shape, Operation& operation) {
  const auto [known, is_new] = sources_.try_emplace(communicator.id);
  if (is_new) {
    const auto begin = static_cast<std::uint32_t>(log_.sources.size());
    const auto sources = world_ranks_.sources(communicator, shape);
    log_.sources.insert(log_.sources.end(), sources.begin(), sources.end());
    known->second = {begin, static_cast<std::uint32_t>(log_.sources.size())};
  }
  std::tie(operation.sources_begin, operation.sources_end) = known->second;
}

void CallLog::add_probed(Action action, const Channel& from, const CommunicatorEntry& communicator, const Shape& shape,
                         std::optional<std::uint64_t> number) {
  if (is_full_) return;
  const std::uint32_t call = next_call() - 1;
  log_.operations.push_back({.action = action,
                             .communicator = communicator.id,
                             .number = number.value_or(Operation::unknown),
                             .peer = world_ranks_.peers(communicator, shape)[static_cast<std::size_t>(from.rank)],
                             .tag = from.tag,
                             .begin = call,
                             .end = call});
}

void CallLog::probed(const Arguments& call, const CommunicatorEntry& communicator, const Shape& shape,
                     const MPI_Status& status) {
  if (call.source == MPI_PROC_NULL) return;
  const Channel from{communicator.id, status.MPI_SOURCE, status.MPI_TAG};
  is_in(call.communicator, shape.size, communicator.id);
  add_probed(Action::probe, from, communicator, shape, order_.next(from));
}

Ticket CallLog::matched(const Arguments& call, const CommunicatorEntry& communicator, const Shape& shape,
                        const MPI_Status& status) {
  Ticket ticket{.id = communicator.id, .shape = shape};
  if (call.source == MPI_PROC_NULL) return ticket;
  const auto receive = order_.posted({communicator.id, call.source, call.receive_tag});
  const Channel from{communicator.id, status.MPI_SOURCE, status.MPI_TAG};
  is_in(call.communicator, shape.size, communicator.id);
  add_probed(Action::receive, from, communicator, shape, order_.number(receive, from));
  return ticket;
}

void CallLog::end(const Arguments& call, const Ticket& ticket, const MPI_Status& status) {
  if (is_full_) return;
  for (std::size_t i = 0; i < ticket.operations; ++i) {
    Operation& own = log_.operations[ticket.operation + i];
    is_in(call.communicator, ticket.shape.size, ticket.id);
    own.end = next_call() - 1;
    if (own.action != Action::receive) continue;
    const Channel from{ticket.id, status.MPI_SOURCE, status.MPI_TAG};
    own.peer = world_ranks_.peer(ticket.id, from.rank);
    own.number = order_.number(ticket.receive, from).value_or(Operation::unknown);
    own.tag = from.tag;
  }
}

}  // namespace commlens::replay

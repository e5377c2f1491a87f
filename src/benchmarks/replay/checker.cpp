#include "benchmarks/replay/checker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/pattern.hpp"
#include "transport/communicator.hpp"

namespace commlens::replay {
namespace {

/// Of the message `number` from rank to rank, with so many bytes: one that arrives in part is another.
std::uint64_t message_seed(std::uint64_t communicator, int from, int to, int tag, std::uint64_t number,
                           std::size_t bytes) {
  const auto ranks = (static_cast<std::uint64_t>(from) << 32U) | static_cast<std::uint32_t>(to);
  return pattern::seed(communicator, ranks, pattern::seed(static_cast<std::uint64_t>(tag), number, bytes));
}

/// The side on which a message is to be sent lies.
const Side& sent_side(const Arguments& call) {
  return call.function->pattern == Pattern::sendrecv_replace ? call.receive : call.send;
}

std::string described(const Arguments& call, const std::string& of, const std::string& problem) {
  return fmt::format("{}, {}: {}", call.function->name, of, problem);
}

}  // namespace

Checker::Checker(const Trace& trace, device::Stream& stream, const Program& program)
    : trace_(trace), stream_(stream), cancels_(program.cancels()), order_(program.has_wildcards()) {}

Ticket Checker::begin(const Arguments& call, CommunicatorEntry& communicator, const Shape& shape, const Need& bytes) {
  Ticket ticket{.id = communicator.id, .shape = shape};
  if (is_collective(call.function->pattern)) {
    ticket.id = pattern::seed(communicator.id, ++communicator.collectives);
  }
  if (call.function->mode != Mode::persistent) fill(call, communicator, ticket, bytes);
  return ticket;
}

void Checker::begin_again(const Arguments& call, CommunicatorEntry& communicator, Ticket& ticket, const Need& bytes) {
  if (is_collective(call.function->pattern)) ticket.id = pattern::mix(ticket.id, 1);
  fill(call, communicator, ticket, bytes);
}

void Checker::fill(const Arguments& call, CommunicatorEntry& communicator, Ticket& ticket, const Need& bytes) {
  const Pattern pattern = call.function->pattern;
  if (bytes.receive > 0) clear(stream_, call.receive.data, bytes.receive);
  if (is_reduction(pattern)) {
    fill_reduction(call, ticket);
  } else if (is_collective(pattern)) {
    fill_collective(call, ticket);
  } else {
    if (sends_message(pattern) && call.dest != MPI_PROC_NULL) fill_message(call, communicator, ticket);
    if (receives_message(pattern)) expect_message(call, communicator, ticket);
  }
  stream_.wait();
}

void Checker::fill_message(const Arguments& call, const CommunicatorEntry& communicator, const Ticket& ticket) {
  const Block sent = block(sent_side(call), 0);
  const std::uint64_t number = order_.sent({communicator.id, call.dest, call.send_tag});
  write(stream_, sent, message_seed(ticket.id, ticket.shape.rank, call.dest, call.send_tag, number, sent.bytes));
}

void Checker::expect_message(const Arguments& call, const CommunicatorEntry& communicator, Ticket& ticket) {
  ticket.is_checked = call.source != MPI_PROC_NULL;
  if (ticket.is_checked) ticket.receive = order_.posted({communicator.id, call.source, call.receive_tag});
}

Ticket Checker::matched(const Arguments& call, const CommunicatorEntry& communicator, const Shape& shape,
                        const MPI_Status& status) {
  Ticket ticket{.id = communicator.id, .shape = shape};
  expect_message(call, communicator, ticket);
  if (!ticket.is_checked) return ticket;
  const Channel from{communicator.id, status.MPI_SOURCE, status.MPI_TAG};
  ticket.probed = Probed{from, order_.number(ticket.receive, from)};
  return ticket;
}

void Checker::begin_receive(const Arguments& call, const Need& bytes) {
  if (bytes.receive > 0) clear(stream_, call.receive.data, bytes.receive);
  stream_.wait();
}

void Checker::end(const Arguments& call, const Ticket& ticket, const MPI_Status& status) {
  if (!ticket.is_checked) return;
  const Pattern pattern = call.function->pattern;
  if (is_reduction(pattern)) return end_reduction(call, ticket);
  if (is_collective(pattern)) return end_collective(call, ticket);
  if (receives_message(pattern) || pattern == Pattern::mrecv) end_message(call, ticket, status);
}

void Checker::end_message(const Arguments& call, const Ticket& ticket, const MPI_Status& status) {
  const auto bytes = message_bytes(status);
  if (!bytes) return;
  const Channel from = ticket.probed ? ticket.probed->from : Channel{ticket.id, status.MPI_SOURCE, status.MPI_TAG};
  const auto number = ticket.probed ? ticket.probed->number : order_.number(ticket.receive, from);
  if (!number || cancels_) {
    ++unchecked_;
    return;
  }
  Block received = block(call.receive, 0);
  const std::string text = fmt::format("the message from rank {} with tag {}", from.rank, from.tag);
  if (*bytes < 0 || static_cast<std::size_t>(*bytes) > received.bytes) {
    return note(call, text, fmt::format("it has {} bytes, where {} are awaited", *bytes, received.bytes));
  }
  received.bytes = static_cast<std::size_t>(*bytes);
  const Verdict verdict = expect(
      stream_, received, message_seed(ticket.id, from.rank, ticket.shape.rank, from.tag, *number, received.bytes));
  bytes_ += verdict.elements;
  if (verdict.error.empty()) return;
  ++mismatches_;
  if (message_error_.empty()) message_error_ = described(call, text, verdict.error);
}

void Checker::finish(bool any_overwritten) {
  if (any_overwritten) {
    unchecked_ += mismatches_;
  } else if (error_.empty()) {
    error_ = message_error_;
  }
}

void Checker::compare(const Arguments& call, const std::string& of, const Block& block, std::uint64_t seed) {
  const Verdict verdict = expect(stream_, block, seed);
  bytes_ += verdict.elements;
  if (!verdict.error.empty()) note(call, of, verdict.error);
}

void Checker::note(const Arguments& call, const std::string& of, const std::string& problem) {
  if (error_.empty()) error_ = described(call, of, problem);
}

}  // namespace commlens::replay

#include "benchmarks/replay/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "benchmarks/replay/checker.hpp"

namespace commlens::replay {
namespace {

/// A region of the profile: what is in it is of the program that was recorded, and not of this one.
class Region {
 public:
  Region() { MPI_Pcontrol(1, "replay"); }
  Region(Region&&) = delete;
  ~Region() { MPI_Pcontrol(-1, "replay"); }
};

}  // namespace

Executor::Executor(Run& run, const Trace& trace, Program& program, Gaps gaps)
    : run_(run),
      trace_(trace),
      program_(program),
      gaps_(gaps),
      handles_(trace),
      communicators_(run.communicator(), program.communicators()),
      memory_(run.buffer(std::max<std::size_t>(program.bytes(), 1))),
      slots_(program.requests()),
      messages_(program.messages()) {
  const bool is_mpi = run.transport_name() == "mpi";
  const bool is_staged = run.transport_name() == "staged";
  if (is_staged || (!is_mpi && !run.mpi_takes_memory())) stage_.emplace(run, memory_, trace.types);
  if (!is_mpi && !is_staged) collectives_.emplace(run, trace);
  for (const auto& call : program.calls()) handles_.complete(*call);
  for (const Leaf& leaf : program.leaves()) {
    const LeafTimes& times = leaf.times;
    leaf_states_.push_back({.gap_ns = gaps_.mean_ns(times),
                            .calls = times.count > 0 ? times.calls / times.count : 0,
                            .remainder = times.count > 0 ? times.calls % times.count : 0});
  }
  for (const ExactGap& gap : trace.exact_gaps(static_cast<std::size_t>(run.rank()))) {
    exact_gaps_ns_.push_back(gaps_.ns(gap));
  }
  const int* largest = nullptr;
  int is_known = 0;
  CALL_MPI(PMPI_Comm_get_attr, MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest), &is_known);
  largest_tag_ = is_known != 0 ? *largest : 32767;
}

Executor::~Executor() { release_requests(); }

/// A trace of a program that was ended may leave requests behind. What they need is there until the run ends.
void Executor::release_requests() {
  for (Slot& slot : slots_) {
    if (slot.handle != MPI_REQUEST_NULL) PMPI_Request_free(&slot.handle);
    if (slot.freed != MPI_REQUEST_NULL) PMPI_Request_free(&slot.freed);
    slot = {};
  }
  std::fill(messages_.begin(), messages_.end(), Message());
  if (!is_attached_) return;
  void* data = nullptr;
  int bytes = 0;
  PMPI_Buffer_detach(static_cast<void*>(&data), &bytes);
  is_attached_ = false;
}

/// Executes what makes communicators, and nothing else. One that is made by a request is awaited where the program
/// awaits it: elsewhere ranks could wait for each other.
void Executor::assign() {
  if (!collectives_) return;
  TransportCollectives& collectives = *collectives_;
  prepare();
  const auto& nodes = program_.nodes();
  for_each_execution(nodes.data(), nodes.data() + nodes.size(), [&](const Node& node) {
    Arguments* const call = program_.leaves()[node.leaf].call;
    heartbeat();
    if (call == nullptr) return;
    if (call->function->pattern == Pattern::make_communicator) {
      make_communicator(*call);
    } else if (call->function->pattern == Pattern::free_communicator) {
      free_communicator(*call);
    } else if (is_of_requests(call->function->pattern)) {
      finish_communicators(*call);
    } else if (is_collective(call->function->pattern)) {
      CommunicatorEntry& communicator = communicators_.at(call->communicator);
      const Shape& shape = Communicators::shape(communicator);
      require_counts(*call, shape);
      set_places(*call, need(*call, trace_.types, shape));
      collectives.assign(*call, communicator, shape);
    }
  });
  collectives.require_some();
}

void Executor::prepare() {
  release_requests();
  communicators_.reset();
  for (LeafState& state : leaf_states_) state.owed = 0;
  next_execution_ = 0;
  totals_ = {.seconds_of = std::vector<double>(functions().size())};
  gaps_.begin();
}

void Executor::execute() {
  const Region region;
  execute_nodes();
}

Verdict Executor::validate() {
  prepare();
  Checker checker(trace_, run_.stream(), program_);
  execute_for(checker, false);
  checker.finish(run_.communicator().maximum(checker.is_overwritten() ? 1 : 0) > 0);
  unchecked_ = checker.unchecked();
  return {.elements = checker.bytes(), .error = checker.error()};
}

void Executor::execute_for(Observer& observer, bool has_gaps) {
  observer_ = &observer;
  has_gaps_ = has_gaps;
  execute_nodes();
  has_gaps_ = true;
  observer_ = nullptr;
}

void Executor::execute_nodes() {
  auto& leaves = program_.leaves();
  const auto& nodes = program_.nodes();
  for_each_execution(nodes.data(), nodes.data() + nodes.size(), [&](const Node& node) {
    const Leaf& leaf = leaves[node.leaf];
    LeafState& state = leaf_states_[node.leaf];
    heartbeat();
    if (has_gaps_) gaps_.pass(next_gap_ns(state));
    if (leaf.call != nullptr) perform(*leaf.call, calls_of(state, leaf));
  });
}

double Executor::next_gap_ns(const LeafState& state) {
  const std::size_t execution = next_execution_++;
  return execution < exact_gaps_ns_.size() ? exact_gaps_ns_[execution] : state.gap_ns;
}

/// In sum what the leaf stands for, spread evenly over its executions.
std::uint64_t Executor::calls_of(LeafState& state, const Leaf& leaf) {
  state.owed += state.remainder;
  if (state.owed < leaf.times.count) return state.calls;
  state.owed -= leaf.times.count;
  return state.calls + 1;
}

void Executor::perform(Arguments& call, std::uint64_t calls) {
  switch (call.function->pattern) {
    case Pattern::probe:
    case Pattern::mprobe:
      return probe(call, calls);
    case Pattern::mrecv:
      return receive_matched(call);
    case Pattern::buffer_attach:
      return attach(call);
    case Pattern::make_communicator:
      return make_communicator(call);
    case Pattern::free_communicator:
      return free_communicator(call);
    default:
      return is_of_requests(call.function->pattern) ? perform_on_requests(call, calls) : transfer(call);
  }
}

void Executor::set_places(Arguments& call, const Need& bytes) const {
  const bool has_slot = call.function->mode != Mode::blocking && call.request >= 0;
  const Buffers& buffers = has_slot ? program_.slot(call.request) : program_.scratch();
  if (bytes.send > buffers.send.bytes || bytes.receive > buffers.receive.bytes) {
    throw Error(fmt::format("{} needs more memory than was planned: its communicator is larger than in the program",
                            call.function->name));
  }
  auto* const memory = memory_.as<std::byte>();
  call.send.data = memory + buffers.send.begin;
  call.receive.data = memory + buffers.receive.begin;
  for (Side* const side : {&call.send, &call.receive})
    side->passed = stage_ ? stage_->place_of(side->data) : side->data;
}

void Executor::copy_out(const Arguments& call, const Shape& shape) {
  if (stage_) add_time(call, [&] { stage_->copy_out(call, shape); });
}

void Executor::copy_in(const Arguments& call, const Shape& shape, const MPI_Status& status) {
  if (!stage_) return;
  add_time(call, [&] { stage_->copy_in(call, shape, status); });
  if (observer_ != nullptr) observer_->left();
}

/// MPI reads one count for each rank or neighbor.
void Executor::require_counts(const Arguments& call, const Shape& shape) {
  const auto require = [&](const Side& side, std::int64_t blocks) {
    if (std::cmp_greater_equal(side.wide_counts.size(), blocks)) return;
    throw Error(fmt::format("{} has {} counts, where its communicator has {} ranks", call.function->name,
                            side.wide_counts.size(), blocks));
  };
  const Pattern pattern = call.function->pattern;
  if (call.send.has_counts && sends(call, shape)) require(call.send, blocks_to_send(pattern, shape));
  if (!call.receive.has_counts) return;
  if (pattern == Pattern::reduce_scatter) {
    require(call.receive, shape.size);
  } else if (receives(call, shape)) {
    require(call.receive, blocks_to_receive(pattern, shape));
  }
}

void Executor::transfer(Arguments& call) {
  CommunicatorEntry& communicator = communicators_.at(call.communicator);
  const Shape shape = Communicators::shape(communicator);
  const Need bytes = need(call, trace_.types, shape);
  require_counts(call, shape);
  set_places(call, bytes);
  if (collectives_) {
    if (const auto* const operation = collectives_->find(call, communicator)) {
      return transfer_by_transport(call, communicator, shape, bytes, *operation);
    }
  }
  Ticket ticket;
  const bool makes_request = call.function->mode != Mode::blocking;
  if (makes_request) use_again(slot(call.request));
  if (observer_ != nullptr) ticket = observer_->begin(call, communicator, shape, bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status{};
  call.communicator_handle = communicator.handle;
  call.request_handle = &request;
  call.status = wanted(status);
  timed(call, [&] {
    if (call.function->mode != Mode::persistent) copy_out(call, shape);
    return call.function->call(call);
  });
  if (call.function->mode != Mode::persistent) {
    totals_.bytes += static_cast<double>(counted_bytes(call, trace_.types, shape));
  }
  if (makes_request) return remember(call, request, shape, ticket);
  copy_in(call, shape, status);
  if (observer_ != nullptr) observer_->end(call, ticket, status);
}

void Executor::transfer_by_transport(Arguments& call, CommunicatorEntry& communicator, const Shape& shape,
                                     const Need& bytes, const TransportCollectives::Operation& operation) {
  Ticket ticket;
  if (observer_ != nullptr) ticket = observer_->begin(call, communicator, shape, bytes);
  // Not timed(): it is no call of MPI.
  if (observer_ != nullptr) observer_->entered(call);
  add_time(call, [&] { collectives_->run(call, shape, operation); });
  if (observer_ != nullptr) observer_->left();
  totals_.calls += 1;
  totals_.bytes += static_cast<double>(counted_bytes(call, trace_.types, shape));
  if (observer_ != nullptr) observer_->end(call, ticket, {});
}

void Executor::receive_matched(Arguments& call) {
  Message nobodys{.handle = MPI_MESSAGE_NO_PROC, .ticket = {}};
  Message& message = call.message < 0 ? nobodys : messages_[static_cast<std::size_t>(call.message)];
  if (message.handle == MPI_MESSAGE_NULL) {
    throw Error(fmt::format("{} receives a message that no probe has matched", call.function->name));
  }
  const Need bytes = need(call, trace_.types, Shape());
  set_places(call, bytes);
  const bool makes_request = call.function->mode != Mode::blocking;
  if (makes_request) use_again(slot(call.request));
  if (observer_ != nullptr) observer_->begin_receive(call, bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status{};
  call.message_handle = &message.handle;
  call.request_handle = &request;
  call.status = wanted(status);
  timed(call, [&] { return call.function->call(call); });
  const Ticket ticket = std::exchange(message.ticket, {});
  if (makes_request) return remember(call, request, Shape(), ticket);
  copy_in(call, Shape(), status);
  if (observer_ != nullptr) observer_->end(call, ticket, status);
}

void Executor::probe(Arguments& call, std::uint64_t calls) {
  CommunicatorEntry& communicator = communicators_.at(call.communicator);
  const bool is_test = has_flag(call);
  call.communicator_handle = communicator.handle;
  MPI_Status status{};
  call.status = observer_ != nullptr ? &status : MPI_STATUS_IGNORE;
  if (is_test && call.flag == 0) return probe_without_result(call, calls);
  const bool matches = call.function->pattern == Pattern::mprobe;
  Message nobodys;
  Message& message = call.message < 0 ? nobodys : messages_[static_cast<std::size_t>(call.message)];
  call.message_handle = &message.handle;
  call.called_flag = 0;
  timed(call, [&] {
    int result = call.function->call(call);
    // By MPI's own functions, so that a profiler counts one call, as in the program.
    while (is_test && result == MPI_SUCCESS && call.called_flag == 0) {
      result = matches
                   ? PMPI_Improbe(call.source, call.receive_tag, communicator.handle, &call.called_flag,
                                  &message.handle, call.status)
                   : PMPI_Iprobe(call.source, call.receive_tag, communicator.handle, &call.called_flag, call.status);
    }
    return result;
  });
  if (observer_ == nullptr) return;
  if (matches) {
    message.ticket = observer_->matched(call, communicator, Communicators::shape(communicator), status);
  } else {
    observer_->probed(call, communicator, Communicators::shape(communicator), status);
  }
}

/// With a tag that no message has: an MPI_Improbe must not match one before its time.
void Executor::probe_without_result(Arguments& call, std::uint64_t calls) {
  MPI_Message message = MPI_MESSAGE_NULL;
  call.message_handle = &message;
  const bool matches = call.function->pattern == Pattern::mprobe && call.source != MPI_PROC_NULL;
  const int tag = matches ? std::exchange(call.receive_tag, largest_tag_) : call.receive_tag;
  for (std::uint64_t i = 0; i < calls; ++i) timed(call, [&] { return call.function->call(call); });
  call.receive_tag = tag;
}

/// In memory of the host: MPI copies messages there itself.
void Executor::attach(const Arguments& call) {
  if (is_attached_) {
    void* data = nullptr;
    int bytes = 0;
    CALL_MPI(PMPI_Buffer_detach, static_cast<void*>(&data), &bytes);
  }
  attached_.resize(static_cast<std::size_t>(std::max(call.number(0), 0)) + 1);
  is_attached_ = true;
  timed(call, [&] { return MPI_Buffer_attach(attached_.data(), std::max(call.number(0), 0)); });
}

void Executor::make_communicator(Arguments& call) {
  CommunicatorEntry& parent = communicators_.at(call.communicator);
  call.communicator_handle = parent.handle;
  call.second_handle = communicators_.handle(call.second_communicator);
  const std::string_view name = call.function->name;
  if (name == "MPI_Cart_sub") {
    int dimensions = 0;
    CALL_MPI(PMPI_Cartdim_get, call.communicator_handle, &dimensions);
    if (std::cmp_less(call.arrays[0].size(), dimensions)) throw Error("MPI_Cart_sub: an array is too short");
  }
  CommunicatorEntry none;
  CommunicatorEntry& made = call.made_communicator < 0 ? none : communicators_.place(call.made_communicator);
  const bool has_group =
      std::find(call.function->roles.begin(), call.function->roles.end(), Role::group) != call.function->roles.end();
  if (has_group) call.group_handle = communicators_.group_of(call.group);
  MPI_Request request = MPI_REQUEST_NULL;
  call.request_handle = &request;
  call.made_handle = &made.handle;
  Ticket ticket;
  if (observer_ != nullptr) ticket = observer_->begin(call, parent, Communicators::shape(parent), {});
  timed(call, [&] { return call.function->call(call); });
  if (has_group) CALL_MPI(PMPI_Group_free, &call.group_handle);
  if (call.function->mode == Mode::blocking && (made.handle != MPI_COMM_NULL) != (call.made_communicator >= 0)) {
    throw Error(fmt::format("{} gives this rank {} communicator, unlike in the program: are as many ranks on a node?",
                            name, made.handle != MPI_COMM_NULL ? "a" : "no"));
  }
  communicators_.made(call, made, observer_ != nullptr);
  if (call.function->mode == Mode::nonblocking) {
    remember(call, request, {}, ticket);
  } else if (observer_ != nullptr) {
    observer_->end(call, ticket, {});
  }
}

void Executor::free_communicator(Arguments& call) {
  if (call.communicator < 2) throw Error(fmt::format("{} of a communicator that MPI has made", call.function->name));
  CommunicatorEntry& communicator = communicators_.at(call.communicator);
  call.made_handle = &communicator.handle;
  timed(call, [&] { return call.function->call(call); });
}

}  // namespace commlens::replay

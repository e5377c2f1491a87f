// Executes a rank's part of a trace: with MPI, but for the collectives that a transport has in its place.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/replay/communicators.hpp"
#include "benchmarks/replay/function.hpp"
#include "benchmarks/replay/gaps.hpp"
#include "benchmarks/replay/handles.hpp"
#include "benchmarks/replay/observer.hpp"
#include "benchmarks/replay/program.hpp"
#include "benchmarks/replay/stage.hpp"
#include "benchmarks/replay/trace.hpp"
#include "benchmarks/replay/transport_collectives.hpp"
#include "harness/measurement.hpp"
#include "harness/run.hpp"

namespace commlens::replay {

/// Of one execution of the trace, on this rank.
struct Totals {
  double call_s = 0;  ///< in calls
  double calls = 0;
  double bytes = 0;                ///< that calls send, as the profile counts them
  std::vector<double> seconds_of;  ///< in each function
};

class Executor {
 public:
  /// Takes the memory of the program from the run.
  Executor(Run& run, const Trace& trace, Program& program, Gaps gaps);
  Executor(Executor&&) = delete;
  ~Executor();

  /// Collective, first of all: finds out which collectives are the transport's. Throws Unsupported for none.
  void assign();
  [[nodiscard]] const std::optional<TransportCollectives>& collectives() const { return collectives_; }
  [[nodiscard]] bool is_staged() const { return stage_.has_value(); }
  /// Collective: as at the begin of the program.
  void prepare();
  /// Collective, once after prepare(): the calls of the trace, with the gaps between them.
  void execute();
  /// Collective: the same without gaps; what is received is compared.
  Verdict validate();
  /// Collective, once after prepare(): as execute(), but told to the observer.
  void execute_for(Observer& observer, bool has_gaps = true);

  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] std::size_t unchecked() const { return unchecked_; }  ///< calls that validate() could not check

 private:
  /// A request of the program.
  struct Slot {
    MPI_Request handle = MPI_REQUEST_NULL;
    Arguments* call = nullptr;
    bool is_persistent = false;
    bool is_active = false;
    Shape shape;  ///< of its communicator
    Ticket ticket;
    /// Freed by the program while active, and kept where messages are validated, to know whether it is complete when
    /// its place is used again.
    MPI_Request freed = MPI_REQUEST_NULL;
  };
  struct Message {
    MPI_Message handle = MPI_MESSAGE_NULL;
    Ticket ticket;
  };
  struct LeafState {
    double gap_ns = 0;
    std::uint64_t calls = 0;      ///< of each execution
    std::uint64_t remainder = 0;  ///< calls beyond, of all executions
    std::uint64_t owed = 0;       ///< of the remainder, times the executions
  };

  void execute_nodes();
  /// Before the next execution, which is one of this leaf.
  [[nodiscard]] double next_gap_ns(const LeafState& state);
  [[nodiscard]] static std::uint64_t calls_of(LeafState& state, const Leaf& leaf);
  void perform(Arguments& call, std::uint64_t calls);
  /// Times `action`, a call of the function, and throws Error where MPI says that it failed.
  template <class Action>
  void timed(const Arguments& call, const Action& action);
  /// Adds the time of `action` to that of the call's function; nested, it is part of the outer one's.
  template <class Action>
  void add_time(const Arguments& call, const Action& action);

  void transfer(Arguments& call);
  void transfer_by_transport(Arguments& call, CommunicatorEntry& communicator, const Shape& shape, const Need& bytes,
                             const TransportCollectives::Operation& operation);
  void copy_out(const Arguments& call, const Shape& shape);
  void copy_in(const Arguments& call, const Shape& shape, const MPI_Status& status);
  [[nodiscard]] bool wants_status() const { return observer_ != nullptr || stage_; }
  [[nodiscard]] MPI_Status* wanted(MPI_Status& status) const { return wants_status() ? &status : MPI_STATUS_IGNORE; }
  [[nodiscard]] MPI_Status* wanted_statuses() { return wants_status() ? statuses_.data() : MPI_STATUSES_IGNORE; }
  void set_places(Arguments& call, const Need& bytes) const;
  static void require_counts(const Arguments& call, const Shape& shape);
  void receive_matched(Arguments& call);
  void probe(Arguments& call, std::uint64_t calls);
  void probe_without_result(Arguments& call, std::uint64_t calls);
  void attach(const Arguments& call);
  void make_communicator(Arguments& call);
  void free_communicator(Arguments& call);

  // Of requests.
  void perform_on_requests(Arguments& call, std::uint64_t calls);
  void remember(Arguments& call, MPI_Request handle, const Shape& shape, Ticket ticket);
  [[nodiscard]] Slot* slot(std::int64_t number);
  void start(const Arguments& call);
  void wait(const Arguments& call);
  void test(const Arguments& call, std::uint64_t calls);
  void wait_all(const Arguments& call);
  void test_all(const Arguments& call, std::uint64_t calls);
  void some(const Arguments& call, std::uint64_t calls);
  void any(const Arguments& call, std::uint64_t calls);
  void free_request(const Arguments& call);
  void cancel(const Arguments& call);
  void use_again(Slot* slot);
  void completed(Slot& slot, const MPI_Status& status);
  /// Those of the call; `masked`: only those that the trace says complete.
  void gather(const Arguments& call, bool masked);
  void scatter(const Arguments& call, std::size_t index);
  [[nodiscard]] static bool is_named(const Arguments& call, std::size_t index);
  void finish_communicators(const Arguments& call);
  void release_requests();

  Run& run_;
  const Trace& trace_;
  Program& program_;
  GapLoop gaps_;
  Handles handles_;
  Communicators communicators_;
  device::Buffer memory_;
  std::optional<Stage> stage_;                       ///< of buffers that MPI is not given
  std::optional<TransportCollectives> collectives_;  ///< of transports beside MPI
  std::vector<Slot> slots_;
  std::vector<Message> messages_;
  std::vector<LeafState> leaf_states_;
  std::vector<double> exact_gaps_ns_;  ///< of the executions from the first on
  std::size_t next_execution_ = 0;
  std::vector<std::byte> attached_;  ///< of MPI_Buffer_attach
  bool is_attached_ = false;
  Observer* observer_ = nullptr;
  bool has_gaps_ = true;
  Totals totals_;
  bool is_timing_ = false;
  std::size_t unchecked_ = 0;
  int largest_tag_ = 0;
  // Arguments of calls on several requests.
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> indices_;
};

template <class Action>
void Executor::timed(const Arguments& call, const Action& action) {
  const InCall in_call(call.function->activity);
  int status = MPI_SUCCESS;
  if (observer_ != nullptr) observer_->entered(call);
  add_time(call, [&] { status = action(); });
  if (observer_ != nullptr) observer_->left();
  totals_.calls += 1;
  if (status != MPI_SUCCESS) transport::fail_mpi(status, std::string(call.function->name).c_str());
}

template <class Action>
void Executor::add_time(const Arguments& call, const Action& action) {
  if (is_timing_) return action();
  is_timing_ = true;
  const Stopwatch stopwatch;
  action();
  const double seconds = stopwatch.seconds();
  is_timing_ = false;
  totals_.call_s += seconds;
  totals_.seconds_of[static_cast<std::size_t>(call.function - functions().data())] += seconds;
}

}  // namespace commlens::replay

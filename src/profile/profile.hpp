// The profiler of one process. The generated wrappers use class Call and amounts.hpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "counters.hpp"
#include "mpi_library.hpp"
#include "peers.hpp"
#include "preload/clock.hpp"
#include "preload/rank_file.hpp"
#include "regions.hpp"
#include "requests.hpp"
#include "threads.hpp"

namespace commlens::profile {

using preload::Clock;
using preload::nanoseconds;

/// Why a rank's file was written.
enum class Ending : std::uint8_t { finalizing, finalized, aborted, failed, signalled, exited };

/// Global because the wrappers are C functions that the program calls: they receive no object.
struct Profile {
  // Set when the library is loaded.
  bool active = false;  // false in a program that is not profiled and in a forked child
  bool records_call_sites = false;
  bool records_regions = false;
  bool measures_waiting = false;
  int call_depth = 1;  // return addresses by which call sites differ
  const char* folder = nullptr;
  std::uint64_t loaded_ns = 0;  // since 1970
  Clock clock;

  // Set when MPI starts.
  std::uint64_t began_ticks = 0;    // the first MPI_Init or MPI_Session_init
  std::uint64_t cpu_before_ns = 0;  // of the process until then
  bool started = false;
  bool multithreaded = false;  // the thread level is MPI_THREAD_MULTIPLE
  int rank = 0;
  int size = 0;
  pid_t pid = 0;
  std::uint64_t queued_ns = 0;  // queued_nanoseconds() when MPI had started
  std::atomic<int> sessions = 0;
  const char* thread_level = "";
  char mpi[256] = {};
  preload::RankFile file;
  MpiLibrary library{};
  Peers peers;
  Requests requests;
  Threads threads;
  Regions regions;

  Counters* counters = nullptr;    // one per function
  CallSite* call_sites = nullptr;  // max_call_sites
  Frame* frames = nullptr;         // call_depth for each call site
  Count dropped_call_sites = 0;    // calls from sites beyond max_call_sites
};
extern constinit Profile profile;

/// What the profiler does before or after certain functions.
namespace hook {
void starting();         // before MPI_Init, MPI_Init_thread and MPI_Session_init
void started();          // after MPI_Init and MPI_Init_thread
void session_started();  // after MPI_Session_init
void session_ended();
void finalizing();
void finalized();
void aborting();
void forget_groups();  // MPI may reuse a freed handle
void forget_types();
}  // namespace hook

/// Writes the rank's file, if it can be written. Async-signal-safe.
void write_rank_file(Ending ending);
/// The time in which the main thread was ready to run and waited for a processor: the second number
/// of Linux' schedstat. 0 where there is none.
std::uint64_t queued_nanoseconds();

/// The caller's site: the return address, or the first one outside MPI's Fortran library, and
/// those of its callers. Null where there is no room for it.
CallSite* find_call_site(int function, void* return_address);
void prepare_call_sites();

/// One call of an MPI function. Calls that MPI makes within it are part of it and not counted.
class Call {
 public:
  Call(int function, void* return_address) : function_(function), return_address_(return_address) {
    is_counted_ = depth_++ == 0 && profile.active;
  }
  ~Call() { --depth_; }
  Call(Call&&) = delete;

  [[nodiscard]] bool is_counted() const { return is_counted_; }

  void begin() {
    thread_ = &profile.threads.current();
    if (profile.records_call_sites) find_site();
    start_ = profile.clock.ticks();
    thread_->since.store(start_, std::memory_order_relaxed);
    thread_->function.store(function_ + 1, std::memory_order_relaxed);
  }
  void end() {
    ticks_ = profile.clock.ticks() - start_;
    thread_->function.store(0, std::memory_order_relaxed);
    Counters& total = counters();
    const Adder adder(profile.multithreaded);
    adder.add(total.calls, 1);
    adder.add(total.ticks, ticks_);
    if (total.max_ticks.load(std::memory_order_relaxed) < ticks_) Adder::raise(total.max_ticks, ticks_);
    if (call_site_ != nullptr) count_call_site();
    if (thread_->open_regions > 0) profile.regions.add_call(*thread_, function_, ticks_);
  }
  /// The time at which it returned, and how long it took.
  [[nodiscard]] std::uint64_t end_ticks() const { return start_ + ticks_; }
  [[nodiscard]] std::uint64_t ticks() const { return ticks_; }
  /// Whether the calling thread is within a call.
  [[nodiscard]] static bool is_open() { return depth_ > 0; }
  /// Whether MPI can be queried about the arguments.
  [[nodiscard]] static bool can_query_mpi() { return profile.started; }

  [[nodiscard]] static bool measures_waiting() { return profile.measures_waiting && can_query_mpi(); }
  /// Before a collective: times a barrier, which ends when the last rank has arrived.
  void wait_for_ranks_of(MPI_Comm communicator);
  /// Before a receive: times a probe, which ends when the message has arrived.
  void wait_for_message(int source, int tag, MPI_Comm communicator);
  /// After a call that does nothing but wait for the sender.
  void count_late_sender() const { count_waiting(ticks_); }
  /// After a send: what it took longer than the fastest one of its size.
  void count_late_receiver(std::uint64_t bytes) const { count_beyond_fastest(bytes, ticks_); }
  /// After a call that has started a request.
  void note_start(std::uint64_t bytes) const;
  /// After a call that has completed requests.
  void note_completion() const { thread_->exchange.is_completed = true; }
  /// The same, if it has waited for them: what it took longer than the fastest exchange of that size,
  /// from the last start to the end. So a transfer that is overlapped is not too short a measure.
  void count_late_exchange() const;
  void count_communicator(MPI_Comm communicator);
  void count_bytes(std::uint64_t bytes);
  void count_buffer(const void* buffer);
  /// `peer` is a rank of MPI_COMM_WORLD, or Peers::none.
  static void count_peer(int peer, std::uint64_t bytes) {
    profile.peers.add(Adder(profile.multithreaded), peer, bytes);
  }

 private:
  [[nodiscard]] Counters& counters() const { return profile.counters[function_]; }
  void find_site();
  void count_call_site() const;
  void count_waiting(std::uint64_t ticks) const;
  void count_beyond_fastest(std::uint64_t bytes, std::uint64_t ticks) const;

  // A preloaded library can use the fast model of thread-local variables.
  static constinit thread_local int depth_ __attribute__((tls_model("initial-exec")));

  int function_;
  void* return_address_;
  bool is_counted_;
  std::uint64_t start_ = 0;
  std::uint64_t ticks_ = 0;
  Thread* thread_ = nullptr;
  CallSite* call_site_ = nullptr;
};

}  // namespace commlens::profile

// The profiler of one process. The generated wrappers use class Call and amounts.hpp.
#pragma once

#include "clock.hpp"
#include "counters.hpp"
#include "mpi_library.hpp"
#include "peers.hpp"
#include "requests.hpp"

namespace commlens::profile {

/// Why a rank's file was written.
enum class Ending : std::uint8_t { finalizing, finalized, aborted, signalled, exited };

/// Global because the wrappers are C functions that the program calls: they receive no object.
struct Profile {
  // Set when the library is loaded.
  bool active = false;  // false in a program that is not profiled and in a forked child
  bool records_call_sites = false;
  bool measures_waiting = false;
  const char* folder = nullptr;
  Clock clock;

  // Set when MPI starts.
  bool started = false;
  bool multithreaded = false;  // the thread level is MPI_THREAD_MULTIPLE
  int rank = 0;
  int size = 0;
  std::atomic<int> sessions = 0;
  const char* thread_level = "";
  char host[256] = {};
  char program[1024] = {};
  char mpi[256] = {};
  char file[1400] = {};            // where the rank's counters are written
  char temporary_file[1408] = {};  // its name until it is complete
  MpiLibrary library{};
  Peers peers;
  Requests requests;

  Counters* counters = nullptr;    // one per function
  CallSite* call_sites = nullptr;  // max_call_sites
  Count dropped_call_sites = 0;    // calls from sites beyond max_call_sites
  std::atomic<int> inside = -1;    // function being called, -1: none; unknown if multithreaded
  Count inside_since = 0;
};
extern constinit Profile profile;

/// What the profiler does before or after certain functions.
namespace hook {
void started();          // after MPI_Init and MPI_Init_thread
void session_started();  // after MPI_Session_init
void session_ended();
void finalizing();
void finalized();
void aborting();
void forget_groups();  // MPI may reuse a freed handle
}  // namespace hook

/// Writes the rank's file, if it can be written. Async-signal-safe.
void write_rank_file(Ending ending);
/// Writes the variables that concern communication, for all ranks.
void write_environment_file();

/// The caller's site: the return address, or the first one outside MPI's Fortran library. Null
/// where there is no room for it.
CallSite* find_call_site(int function, void* return_address);
void prepare_call_sites();

MemoryKind memory_kind_of(const void* buffer);

/// One call of an MPI function. Calls that MPI makes within it are part of it and not counted.
class Call {
 public:
  Call(int function, void* return_address) : function_(function), return_address_(return_address) {
    is_counted_ = depth_++ == 0 && profile.active;
  }
  ~Call() { --depth_; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  [[nodiscard]] bool is_counted() const { return is_counted_; }

  void begin() {
    start_ = profile.clock.ticks();
    if (!profile.multithreaded) {
      profile.inside_since.store(start_, std::memory_order_relaxed);
      profile.inside.store(function_, std::memory_order_relaxed);
    }
  }
  void end() {
    const std::uint64_t ticks = profile.clock.ticks() - start_;
    if (!profile.multithreaded) profile.inside.store(-1, std::memory_order_relaxed);
    Counters& own = counters();
    const Adder adder(profile.multithreaded);
    adder.add(own.calls, 1);
    adder.add(own.ticks, ticks);
    if (own.max_ticks.load(std::memory_order_relaxed) < ticks) Adder::raise(own.max_ticks, ticks);
    if (profile.records_call_sites) count_call_site(ticks);
  }
  /// Whether MPI can be queried about the arguments.
  [[nodiscard]] static bool can_query_mpi() { return profile.started; }

  /// Whether wait_for_ranks_of precedes each collective.
  [[nodiscard]] static bool measures_waiting() { return profile.measures_waiting && can_query_mpi(); }
  /// Times a barrier, which ends when the last rank has arrived.
  void wait_for_ranks_of(MPI_Comm communicator);
  void count_communicator(MPI_Comm communicator);
  void count_bytes(std::uint64_t bytes);
  void count_buffer(const void* buffer);
  /// `peer` is a rank of MPI_COMM_WORLD, or Peers::none.
  static void count_peer(int peer, std::uint64_t bytes) {
    profile.peers.add(Adder(profile.multithreaded), peer, bytes);
  }

 private:
  [[nodiscard]] Counters& counters() const { return profile.counters[function_]; }
  void count_call_site(std::uint64_t ticks);

  // A preloaded library can use the fast model of thread-local variables.
  static constinit thread_local int depth_ __attribute__((tls_model("initial-exec")));

  int function_;
  void* return_address_;
  bool is_counted_;
  std::uint64_t start_ = 0;
  CallSite* call_site_ = nullptr;
};

}  // namespace commlens::profile

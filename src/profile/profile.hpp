// The profiler of one process. What the generated wrappers use is class Call, and what is in amounts.hpp.
#pragma once

#include "clock.hpp"
#include "counters.hpp"
#include "mpi_library.hpp"
#include "peers.hpp"
#include "requests.hpp"

namespace commlens::profile {

/// Why the file of a rank was written.
enum class Ending : std::uint8_t { finalizing, finalized, aborted, signalled, exited };

/// There is one, and it is global, as the wrappers are functions that a program calls: nobody hands them an object.
struct Profile {
  // Set when the library is loaded.
  bool active = false;  // false in a program that is not to be profiled, and in a forked child
  bool wants_call_sites = false;
  bool wants_waiting = false;
  const char* folder = nullptr;
  Clock clock;

  // Set when MPI starts.
  bool started = false;
  bool threads = false;  // MPI_THREAD_MULTIPLE
  int rank = 0;
  int size = 0;
  std::atomic<int> sessions = 0;
  const char* thread_level = "";
  char host[256] = {};
  char program[1024] = {};
  char mpi[256] = {};
  char file[1400] = {};   // the rank's own
  char draft[1408] = {};  // what it is called while it is written
  MpiLibrary library{};
  Peers peers;
  Requests requests;

  Counters* counters = nullptr;    // one a function
  CallSite* call_sites = nullptr;  // most_call_sites
  Count dropped_call_sites = 0;    // calls from more places than there is room for
  std::atomic<int> inside = -1;    // the function that is running; not known with several threads
  Count inside_since = 0;
};
extern constinit Profile profile;

/// What the library itself does around a few functions.
namespace hook {
void started();          // after MPI_Init and MPI_Init_thread
void session_started();  // after MPI_Session_init
void session_ended();
void finalizing();
void finalized();
void aborting();
void forget_groups();  // a handle may soon stand for something else
}  // namespace hook

/// Writes the rank's file; nothing where it cannot be written. Safe in a signal handler.
void write_rank_file(Ending ending);

/// The place that called: the return address, or the first one outside of MPI's own Fortran library.
CallSite* find_call_site(int function, void* return_address);
void prepare_call_sites();

Memory memory_of(const void* buffer);

/// One call of an MPI function. MPI's own calls within it are part of it, and are not counted.
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
    if (!profile.threads) {
      profile.inside_since.store(start_, std::memory_order_relaxed);
      profile.inside.store(function_, std::memory_order_relaxed);
    }
  }
  void end() {
    const std::uint64_t ticks = profile.clock.ticks() - start_;
    if (!profile.threads) profile.inside.store(-1, std::memory_order_relaxed);
    Counters& own = counters();
    const Adder adder(profile.threads);
    adder.add(own.calls, 1);
    adder.add(own.ticks, ticks);
    if (own.most_ticks.load(std::memory_order_relaxed) < ticks) Adder::raise(own.most_ticks, ticks);
    if (profile.wants_call_sites) note_call_site(ticks);
  }
  /// Whether what the parameters say may be asked of MPI.
  [[nodiscard]] static bool is_open() { return profile.started; }

  /// Whether a collective is to be preceded by wait_for_others, which times how long the last rank is in coming.
  [[nodiscard]] static bool waits() { return profile.wants_waiting && is_open(); }
  void wait_for_others(MPI_Comm communicator);
  void note_communicator(MPI_Comm communicator);
  void note_bytes(std::uint64_t bytes);
  void note_buffer(const void* buffer);
  /// The peer is a rank of MPI_COMM_WORLD, or nobody.
  static void note_peer(int peer, std::uint64_t bytes) { profile.peers.add(Adder(profile.threads), peer, bytes); }

 private:
  [[nodiscard]] Counters& counters() const { return profile.counters[function_]; }
  void note_call_site(std::uint64_t ticks);

  // Preloaded before the program runs, the library may use the fast model of thread-local variables.
  static constinit thread_local int depth_ __attribute__((tls_model("initial-exec")));

  int function_;
  void* return_address_;
  bool is_counted_;
  std::uint64_t start_ = 0;
  CallSite* call_site_ = nullptr;
};

}  // namespace commlens::profile

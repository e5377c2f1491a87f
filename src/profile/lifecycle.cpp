// The start of the profiler, and each way in which a program can end.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/knowledge_lists.hpp"
#include "preload/process.hpp"
#include "profile.hpp"
#include "trace/trace.hpp"

namespace commlens::profile {

using preload::is_set;

constinit Profile profile;

namespace {

Counters all_counters[max_functions];
CallSite all_call_sites[max_call_sites];
Frame all_frames[max_call_sites * max_call_depth];

// `commlens profile` searches the file for this text.
[[gnu::used]] const char built_for_mark[] = "commlens-profile is built for: " COMMLENS_PROFILE_MPI;

constexpr int signals[] = {SIGTERM, SIGINT, SIGABRT};
constexpr int signal_count = sizeof signals / sizeof *signals;
struct sigaction previous_actions[signal_count] = {};

// Set when the file is to say how the program ended. Later events do not change that.
std::atomic_flag has_ended = ATOMIC_FLAG_INIT;
std::atomic<pid_t> ending_thread = 0;
std::atomic<bool> is_end_written = false;
std::atomic<bool> has_aborted = false;  // MPICH 5's MPI_Abort returns, and the launcher kills the rank afterwards

pid_t this_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

/// A thread of the MPI library can end the process while another one handles a signal.
void wait_for_ending_thread() {
  constexpr timespec pause{0, 1'000'000};
  constexpr int most_pauses = 2000;
  for (int count = 0; ending_thread != this_thread() && !is_end_written && count < most_pauses; ++count) {
    nanosleep(&pause, nullptr);
  }
}

void end(Ending ending) {
  if (!profile.active || !profile.started) return;
  if (has_ended.test_and_set()) {
    wait_for_ending_thread();
    return;
  }
  ending_thread = this_thread();
  write_rank_file(ending);
  is_end_written = true;
}

/// Open MPI's launcher kills all ranks as soon as the first has ended by its SIGTERM. The others
/// need time to write.
void let_others_write() {
  constexpr timespec pause{0, 500'000'000};
  nanosleep(&pause, nullptr);
}

/// Writes the file, then lets the previous action handle the signal.
void handle(int number) {
  const int error = errno;
  end(Ending::signalled);
  if (number == SIGTERM && profile.size > 1) let_others_write();
  for (int index = 0; index < signal_count; ++index) {
    if (signals[index] == number) sigaction(number, &previous_actions[index], nullptr);
  }
  raise(number);  // delivered when this handler returns
  errno = error;
}

void handle_signals() {
  for (int index = 0; index < signal_count; ++index) {
    struct sigaction before{};
    if (sigaction(signals[index], nullptr, &before) != 0) continue;
    const bool is_ours = (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == handle;
    const bool is_ignored = (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_IGN;
    if (is_ours || is_ignored) continue;
    previous_actions[index] = before;
    struct sigaction action{};
    action.sa_handler = handle;
    action.sa_flags = before.sa_flags & (SA_ONSTACK | SA_RESTART);  // as the program set them
    sigemptyset(&action.sa_mask);
    sigaction(signals[index], &action, nullptr);
  }
}

void deactivate_in_child() { profile.active = false; }

template <std::size_t count>
int number_from_environment(const char* const (&names)[count], int otherwise) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return otherwise;
}

/// For a program that uses only sessions and so has no MPI_COMM_WORLD.
void identify_from_launcher() {
  profile.rank = number_from_environment(knowledge::rank_variables::rank, 0);
  profile.size = number_from_environment(knowledge::rank_variables::size, 1);
}

const char* name_of_level(int level) {
  if (level == MPI_THREAD_SINGLE) return "single";
  if (level == MPI_THREAD_FUNNELED) return "funneled";
  return level == MPI_THREAD_SERIALIZED ? "serialized" : "multiple";
}

/// Ends a program of an MPI with another ABI: its handles have another size, so the wrappers cannot
/// even pass them on. `commlens profile` checks before it starts, but cannot look into scripts.
void refuse_other_mpi() {
  const preload::RunningMpi running = preload::running_mpi();
  std::snprintf(profile.mpi, sizeof profile.mpi, "%s", running.version);
  if (running.is_built_for) return;
  preload::write_refusal(profile.folder, profile.mpi);
  std::_Exit(2);
}

void identify(bool has_world) {
  if (has_world) {
    const MPI_Comm world = world_communicator();
    profile.library.comm_rank(world, &profile.rank);
    profile.library.comm_size(world, &profile.size);
    if (!profile.peers.is_enabled()) profile.peers.start(world, profile.size);
  }
  profile.pid = getpid();
  profile.file.open(profile.folder, profile.rank);
}

void start_trace() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  char file[1400];
  std::snprintf(file, sizeof file, "%s/trace-%d-%.200s-%d.raw", profile.folder, profile.rank, host,
                static_cast<int>(profile.pid));
  trace.start(file, is_set("COMMLENS_PROFILE_EXACT_TIMES"));
}

void start() {
  if (!profile.active) return;
  profile.library.find();
  identify_from_launcher();
  refuse_other_mpi();
  int has_world = 0;
  profile.library.initialized(&has_world);
  identify(has_world != 0);
  int level = MPI_THREAD_MULTIPLE;  // a session can have it
  if (has_world != 0) profile.library.query_thread(&level);
  profile.multithreaded = profile.multithreaded || level == MPI_THREAD_MULTIPLE;
  profile.thread_level = name_of_level(level);
  if (profile.started) return;
  profile.file.announce();
  preload::remove_from_ld_preload(&profile);
  handle_signals();
  profile.queued_ns = queued_nanoseconds();
  profile.started = true;
  if (is_set("COMMLENS_PROFILE_TRACE")) start_trace();
}

[[gnu::constructor]] void load() {
  profile.folder = std::getenv("COMMLENS_PROFILE_OUT");
  profile.active = profile.folder != nullptr;
  constexpr const char* depths[] = {"COMMLENS_PROFILE_CALLSITES"};
  profile.call_depth = std::clamp(number_from_environment(depths, 0), 0, max_call_depth);
  profile.records_call_sites = profile.call_depth > 0;
  profile.records_regions = is_set("COMMLENS_PROFILE_REGIONS");
  profile.measures_waiting = is_set("COMMLENS_PROFILE_WAITING");
  profile.counters = all_counters;
  profile.call_sites = all_call_sites;
  profile.frames = all_frames;
  if (profile.active && profile.records_call_sites) prepare_call_sites();
  profile.loaded_ns = nanoseconds(CLOCK_REALTIME);
  profile.clock.start();
  if (profile.active) pthread_atfork(nullptr, nullptr, deactivate_in_child);
}

/// MPI's default error handler ends the process within the call that has failed.
void end_by_exit() { end(Call::is_open() ? Ending::failed : Ending::exited); }

[[gnu::destructor]] void unload() {
  if (profile.active && !profile.started) preload::write_if_unseen(profile.folder);
  end_by_exit();
}

}  // namespace

namespace hook {

void starting() {
  if (profile.began_ticks != 0) return;
  profile.began_ticks = profile.clock.ticks();
  profile.cpu_before_ns = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
}

void started() { start(); }

void session_started() {
  ++profile.sessions;
  start();
}

void session_ended() {
  int has_world = 0;
  if (profile.active && profile.started) profile.library.initialized(&has_world);
  if (--profile.sessions == 0 && has_world == 0) finalized();
}

void finalizing() {
  trace.finish();
  if (profile.active && profile.started && !has_aborted) write_rank_file(Ending::finalizing);
}

void finalized() {
  if (profile.active && profile.started && !has_aborted) write_rank_file(Ending::finalized);
  has_ended.test_and_set();
  is_end_written = true;
}

void aborting() {
  has_aborted = true;
  end(Ending::aborted);
}

void forget_types() { trace.forget_types(); }

void forget_groups() {
  if (profile.active && profile.started) profile.peers.forget_groups();
}

}  // namespace hook

// Open MPI's error handler ends so. A child of vfork has another process id and our memory.
extern "C" __attribute__((visibility("default"), noreturn)) void exit_at_once(int status) __asm__("_exit");
extern "C" void exit_at_once(int status) {
  if (profile.started && getpid() == profile.pid) end_by_exit();
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

}  // namespace commlens::profile

#include "harness/monitor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace commlens {

using Clock = std::chrono::steady_clock;

namespace {

constexpr auto look_every = std::chrono::milliseconds(200);
constexpr auto quiet_for = std::chrono::seconds(2);

/// How a rank's activity reads in a message.
std::string describe(const Activity& activity) {
  const Call call = activity.call.load(std::memory_order_relaxed);
  std::string text(activity.doing.data());
  if (call != Call::none) text += fmt::format(", in {}", name(call));
  return text;
}

}  // namespace

/// Of one node: a word that says who has spoken, and a place for each rank. Laid out in zeroed shared memory.
struct alignas(64) Monitor::Board {
  std::atomic<int> spoken;

  Activity* places() { return reinterpret_cast<Activity*>(this + 1); }
  /// True for the first to ask.
  bool may_speak() {
    int nobody = 0;
    return spoken.compare_exchange_strong(nobody, 1);
  }
  /// With room to begin at a multiple of the alignment: Open MPI 4 gives shared memory that is aligned to 4 bytes only.
  static std::size_t bytes(int ranks) {
    return alignof(Board) + sizeof(Board) + static_cast<std::size_t>(ranks) * sizeof(Activity);
  }
  /// The same place in every process: pages begin at multiples of the alignment everywhere.
  static Board* in(void* memory, std::size_t bytes) {
    return static_cast<Board*>(std::align(alignof(Board), sizeof(Board), memory, bytes));
  }
};

namespace {

// A signal handler can reach nothing but globals, and may call next to nothing.
std::atomic<std::atomic<int>*> speaker_word{nullptr};
std::array<char, 64> crash_prefix{};

void say(const char* text) {
  const auto written = write(STDERR_FILENO, text, std::strlen(text));
  (void)written;
}

struct Caught {
  int signal;
  const char* how;  ///< "crashed (SIGSEGV)"
};
constexpr std::array caught{Caught{SIGSEGV, "crashed (SIGSEGV)"}, Caught{SIGBUS, "crashed (SIGBUS)"},
                            Caught{SIGFPE, "crashed (SIGFPE)"},   Caught{SIGILL, "crashed (SIGILL)"},
                            Caught{SIGABRT, "crashed (SIGABRT)"}, Caught{SIGTERM, "ended by SIGTERM"},
                            Caught{SIGINT, "ended by SIGINT"},    Caught{SIGHUP, "ended by SIGHUP"}};

/// "commlens: ended by SIGTERM while …", "commlens: rank 1 crashed (SIGSEGV) while …", from the first rank of a node
/// that is struck; then whatever the signal does by itself.
extern "C" void on_signal(int signal) {
  int nobody = 0;
  auto* word = speaker_word.load();
  if (word != nullptr && word->compare_exchange_strong(nobody, 1)) {
    const bool own_fault = signal != SIGTERM && signal != SIGINT && signal != SIGHUP;
    say(own_fault ? crash_prefix.data() : "commlens: ");
    for (const Caught& one : caught) {
      if (one.signal == signal) say(one.how);
    }
    say(" while ");
    say(activity().doing.data());
    const Call call = activity().call.load(std::memory_order_relaxed);
    if (call != Call::none) {
      say(", in ");
      say(name(call));
    }
    say("\n");
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void catch_signals(int rank) {
  fmt::format_to_n(crash_prefix.data(), crash_prefix.size() - 1, "commlens: rank {} ", rank);
  for (const Caught& one : caught) std::signal(one.signal, on_signal);
}

/// Ends the process for certain, also where MPI_Abort, called while another thread is inside MPI, does not return.
[[noreturn]] void end_job(MPI_Comm communicator, int status) {
  std::fflush(nullptr);
  std::signal(SIGALRM, [](int) { _exit(3); });
  alarm(5);
  MPI_Abort(communicator, status);
  _exit(status);
}

}  // namespace

Monitor::Monitor(const transport::Communicator& communicator, const transport::Communicator& node, double timeout_s)
    : communicator_(communicator), node_(node), timeout_(timeout_s), last_shown_(Clock::now()) {
  const MPI_Aint bytes = node_.rank() == 0 ? static_cast<MPI_Aint>(Board::bytes(node_.size())) : 0;
  void* base = nullptr;
  transport::check_mpi(
      MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, node_.handle(), static_cast<void*>(&base), &window_),
      "MPI_Win_allocate_shared");
  MPI_Aint size = 0;
  int unit = 0;
  transport::check_mpi(MPI_Win_shared_query(window_, 0, &size, &unit, static_cast<void*>(&base)),
                       "MPI_Win_shared_query");
  if (node_.rank() == 0) std::memset(base, 0, static_cast<std::size_t>(bytes));
  node_.barrier();
  board_ = Board::in(base, static_cast<std::size_t>(size));
  set_activity(board_->places()[node_.rank()]);
  speaker_word = &board_->spoken;
  catch_signals(communicator_.rank());
  doing("starting");
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

Monitor::~Monitor() {
  thread_.request_stop();
  thread_.join();
  speaker_word = nullptr;
  static Activity afterwards;
  set_activity(afterwards);
  MPI_Win_free(&window_);
}

void Monitor::doing(const std::string& what) {
  Activity& mine = activity();
  mine.operations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t length = std::min(what.size(), mine.doing.size() - 1);
  std::memcpy(mine.doing.data(), what.data(), length);
  mine.doing[length] = '\0';
}

void Monitor::shown() { last_shown_ = Clock::now(); }

void Monitor::abort(const std::string& message, int status) {
  if (board_->may_speak()) {
    const std::string line = "commlens: " + message + "\n";
    say(line.c_str());
  }
  end_job(communicator_.handle(), status);
}

void Monitor::watch(const std::stop_token& stop) {
  const auto ranks = static_cast<std::size_t>(node_.size());
  std::vector<std::uint64_t> seen(ranks, 0);
  auto last_progress = Clock::now();
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(look_every);
    const auto now = Clock::now();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto operations = board_->places()[rank].operations.load(std::memory_order_relaxed);
      if (operations != seen[rank]) last_progress = now;
      seen[rank] = operations;
    }
    if (timeout_.count() > 0 && now - last_progress > timeout_) end_stalled();
    if (communicator_.rank() == 0) show_progress(now);
  }
}

void Monitor::show_progress(Clock::time_point now) {
  if (now - last_shown_.load() < quiet_for) return;
  const Activity& mine = activity();
  say(fmt::format("commlens progress: {} ({} operations so far)\n", mine.doing.data(),
                  mine.operations.load(std::memory_order_relaxed))
          .c_str());
  // A line every two seconds while it is short, then ever fewer: a log is read too.
  last_shown_ = now + (progress_line_ ? std::chrono::seconds(8) : std::chrono::seconds(0));
  progress_line_ = true;
}

void Monitor::end_stalled() {
  std::string text = fmt::format("no rank of this node has made progress for {:g} s (--timeout); ", timeout_.count());
  for (int rank = 0; rank < node_.size(); ++rank) {
    text += fmt::format("{}rank {} was {}", rank > 0 ? "; " : "", rank, describe(board_->places()[rank]));
  }
  abort(text, 3);
}

}  // namespace commlens

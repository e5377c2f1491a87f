#include "harness/monitor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/placement.hpp"

namespace commlens {

using Clock = std::chrono::steady_clock;

namespace {

constexpr auto look_every = std::chrono::milliseconds(200);
constexpr auto quiet_for = std::chrono::seconds(2);

/// How a rank's activity reads in a message.
std::string describe(const Activity& activity) {
  const Call call = activity.call.load(std::memory_order_relaxed);
  std::string text(activity.status.data());
  if (call != Call::none) text += fmt::format(", in {}", name(call));
  return text;
}

// A signal handler can reach nothing but globals, and may call next to nothing.
std::atomic<std::atomic<int>*> speaker_word{nullptr};
std::array<char, 64> crash_prefix{};

void say(std::string_view text) {
  const auto written = write(STDERR_FILENO, text.data(), text.size());
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
/// that is hit; then whatever the signal does by itself.
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
    say(activity().status.data());
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
    : communicator_(communicator), timeout_(timeout_s), board_(node), last_shown_(Clock::now()) {
  set_activity(board_.own());
  speaker_word = &board_.spoken();
  catch_signals(communicator_.rank());
  status("starting");
  // Two ranks of a node see all of them, also when one of the two has been stopped. Hundreds of threads that wake up
  // five times per second would be noise.
  const bool watches = !board_.is_shared() || node.rank() < 2;
  if (watches) thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

Monitor::~Monitor() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  speaker_word = nullptr;
  static Activity afterwards;
  set_activity(afterwards);
}

void Monitor::status(const std::string& what) {
  Activity& mine = activity();
  mine.operations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t length = std::min(what.size(), mine.status.size() - 1);
  std::memcpy(mine.status.data(), what.data(), length);
  mine.status[length] = '\0';
}

void Monitor::shown() { last_shown_ = Clock::now(); }

void Monitor::abort(const std::string& message, int status) {
  if (board_.may_speak()) {
    const std::string line = "commlens: " + message + "\n";
    say(line);
  }
  end_job(communicator_.handle(), status);
}

void Monitor::watch(const std::stop_token& stop) {
  const auto ranks = static_cast<std::size_t>(board_.size());
  std::vector<std::uint64_t> seen(ranks, 0);
  auto last_progress = Clock::now();
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(look_every);
    const auto now = Clock::now();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto operations = board_.place(static_cast<int>(rank)).operations.load(std::memory_order_relaxed);
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
  say(fmt::format("commlens progress: {} ({} operations so far)\n", mine.status.data(),
                  mine.operations.load(std::memory_order_relaxed)));
  // A line every two seconds while it is short, then ever fewer: a log is read too.
  last_shown_ = now + (progress_line_ ? std::chrono::seconds(8) : std::chrono::seconds(0));
  progress_line_ = true;
}

/// "rank 0 was timing latency, in MPI_Recv; ranks 1-7 were ...": ranks that did the same stand together.
std::string Monitor::what_ranks_did() const {
  std::map<std::string, std::vector<int>> doing;
  std::vector<std::string> in_order;
  for (int rank = 0; rank < board_.size(); ++rank) {
    const std::string what = describe(board_.place(rank));
    if (doing[what].empty()) in_order.push_back(what);
    doing[what].push_back(rank);
  }
  std::vector<std::string> texts;
  for (const std::string& what : in_order) {
    const auto& ranks = doing[what];
    texts.push_back(fmt::format("{} {} {}", ranks.size() == 1 ? "rank" : "ranks", ranges(ranks),
                                ranks.size() == 1 ? "was " + what : "were " + what));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

void Monitor::end_stalled() {
  if (!board_.is_shared()) {
    abort(fmt::format("no progress for {:g} s (--timeout); rank {} was {}", timeout_.count(), communicator_.rank(),
                      describe(board_.own())),
          3);
  }
  abort(fmt::format("no rank of this node has made progress for {:g} s (--timeout); {}", timeout_.count(),
                    what_ranks_did()),
        3);
}

}  // namespace commlens

#include "harness/monitor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <new>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/placement.hpp"
#include "transport/mpi_library.hpp"

namespace commlens {

ActivityBoard::ActivityBoard(const transport::Communicator& node) : rank_(node.rank()) {
  std::string problem;
  shared_ = transport::SharedMemory::make(node, sizeof(Place), problem);
  if (shared_) {
    new (shared_->of(rank_)) Place;
    node.barrier();
  } else {
    private_ = std::make_unique<Place>();
  }
}

ActivityBoard::Place& ActivityBoard::at(int index) const {
  return shared_ ? *std::launder(reinterpret_cast<Place*>(shared_->of(index))) : *private_;
}

bool ActivityBoard::may_speak() const {
  int nobody = 0;
  return spoken().compare_exchange_strong(nobody, 1);
}

namespace {

constexpr double look_every_s = 0.2;
constexpr auto quiet_for = std::chrono::seconds(2);

/// How a rank's activity reads in a message.
std::string describe(const Activity& activity) {
  const std::size_t call = activity.call.load(std::memory_order_relaxed);
  std::string text(activity.status.data());
  if (call != 0) text += fmt::format(", in {}", Call::text(call));
  return text;
}

constexpr std::string_view stopped_text = "stopped (SIGSTOP, or a debugger)";

/// As the kernel sees it; 0: unknown.
bool is_stopped(int process) {
  if (process == 0) return false;
  const std::string line = read_line(fmt::format("/proc/{}/stat", process));
  // The state comes after the name, which stands in parentheses and may have some of its own.
  const std::size_t name_end = line.rfind(") ");
  return name_end != std::string::npos && (line[name_end + 2] == 'T' || line[name_end + 2] == 't');
}

/// Of processes: those of another one have other numbers.
std::string process_namespace() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/ns/pid", none);
}

std::string who(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", ranges(ranks));
}

/// "rank 1 on n2 did not answer ...", "ranks 0-3 on n1 were timing latency, in MPI_Recv": what needs a look first, then
/// ranks that did the same together.
std::vector<std::string> activities(const Answers& answers) {
  std::vector<std::string> texts;
  for (const auto& [host, ranks] : answers.silent) {
    texts.push_back(fmt::format("{} on {} did not answer: {}, or the node hung", who(ranks), host, stopped_text));
  }
  struct Group {
    std::vector<int> ranks;
    std::set<std::string> hosts;
  };
  std::map<std::string, Group> groups;
  for (const NodeReport& report : answers.reports) {
    for (const auto& [doing, ranks] : report.doing) {
      Group& group = groups[doing];
      group.ranks.insert(group.ranks.end(), ranks.begin(), ranks.end());
      group.hosts.insert(report.host);
    }
  }
  std::vector<std::pair<std::string, Group>> in_order(groups.begin(), groups.end());
  for (auto& [doing, group] : in_order) std::sort(group.ranks.begin(), group.ranks.end());
  std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    const auto place = [](const auto& entry) {
      return std::pair(!entry.first.starts_with(stopped_text), entry.second.ranks.front());
    };
    return place(a) < place(b);
  });
  for (const auto& [doing, group] : in_order) {
    const auto& hosts = group.hosts;
    texts.push_back(fmt::format("{} on {} {} {}", who(group.ranks),
                                hosts.size() == 1 ? *hosts.begin() : fmt::format("{} nodes", hosts.size()),
                                group.ranks.size() == 1 ? "was" : "were", doing));
  }
  for (const auto& [host, ranks] : answers.unreachable) {
    texts.push_back(fmt::format("what {} on {} did is not known, as UDP does not get there", who(ranks), host));
  }
  return texts;
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
    const bool crashed = signal != SIGTERM && signal != SIGINT && signal != SIGHUP;
    say(crashed ? crash_prefix.data() : "commlens: ");
    for (const Caught& action : caught) {
      if (action.signal == signal) say(action.how);
    }
    say(" while ");
    say(activity().status.data());
    const std::size_t call = activity().call.load(std::memory_order_relaxed);
    if (call != 0) {
      say(", in ");
      say(Call::text(call));
    }
    say("\n");
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void catch_signals(int rank) {
  fmt::format_to_n(crash_prefix.data(), crash_prefix.size() - 1, "commlens: rank {} ", rank);
  for (const Caught& action : caught) std::signal(action.signal, on_signal);
}

/// Slurm ends a job at once, and drops what its daemon on a node has not yet read from a rank.
constexpr std::chrono::milliseconds time_to_read_output{200};
/// After MPI_Abort: a launcher ends its ranks sooner.
constexpr std::chrono::seconds time_to_be_ended{2};
constexpr unsigned abort_limit_s = 5;

/// Whatever the job's end waits for.
void end_within_limit() {
  std::signal(SIGALRM, [](int) { _exit(3); });
  alarm(abort_limit_s);
}

}  // namespace

Monitor::Monitor(const transport::Communicator& communicator, const transport::Communicator& node, double timeout_s)
    : communicator_(communicator),
      timeout_(timeout_s),
      board_(node),
      members_(find_members(node)),
      poll_(communicator, watched(node)),
      seen_(members_.size(), 0),
      last_progress_(Clock::now()),
      last_shown_(Clock::now()) {
  set_activity(board_.this_rank());
  speaker_word = &board_.spoken();
  catch_signals(communicator_.rank());
  status("starting");
  if (!watched(node).empty()) thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

std::vector<Monitor::Member> Monitor::find_members(const transport::Communicator& node) const {
  const auto cards = node.gather(fmt::format("{} {} {}", communicator_.rank(), getpid(), process_namespace()));
  std::vector<Member> members;
  for (const std::string& card : cards) {
    Member member;
    std::string name_space;
    std::istringstream(card) >> member.rank >> member.process >> name_space;
    if (name_space != process_namespace()) member.process = 0;
    if (board_.is_shared() || member.rank == communicator_.rank()) members.push_back(member);
  }
  return members;
}

/// Two ranks of a node see all of them, also when one of the two has been stopped. Hundreds of threads that wake up
/// five times per second would be noise.
std::vector<int> Monitor::watched(const transport::Communicator& node) const {
  std::vector<int> ranks;
  if (transport::mpi_is_simulated() || (board_.is_shared() && node.rank() >= 2)) return ranks;
  for (const Member& member : members_) ranks.push_back(member.rank);
  return ranks;
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

void Monitor::status(const std::string& text) {
  Activity& mine = activity();
  mine.operations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t length = std::min(text.size(), mine.status.size() - 1);
  std::memcpy(mine.status.data(), text.data(), length);
  mine.status[length] = '\0';
}

void Monitor::abort(const std::string& message, int status) {
  if (board_.may_speak()) {
    const std::string line = "commlens: " + message + "\n";
    say(line);
  }
  end_within_limit();
  kill_stopped_later();
  end_job(status);
}

/// After MPI_Abort MPICH's launcher now and then ends before it has ended the other ranks, and one that has been
/// stopped does not end by itself. A child of this process outlives it, and kills those of this node.
void Monitor::kill_stopped_later() const {
  std::vector<int> stopped;
  for (const Member& member : members_) {
    if (is_stopped(member.process)) stopped.push_back(member.process);
  }
  if (stopped.empty() || fork() != 0) return;
  setsid();                          // who ends this process may end all of its session
  constexpr int descriptors = 1024;  // the launcher waits until nobody has its pipes
  for (int descriptor = 0; descriptor < descriptors; ++descriptor) close(descriptor);
  std::this_thread::sleep_for(time_to_be_ended);
  for (const int process : stopped) kill(process, SIGKILL);
  _exit(0);
}

void Monitor::watch(const std::stop_token& stop) {
  const auto node_report = [this] { return report(); };
  const bool ends = timeout_.count() > 0 && poll_.leads();
  if (ends) poll_.ask(node_report, stop);  // who can be asked at all
  while (!stop.stop_requested()) {
    poll_.answer(look_every_s, node_report, stop);
    look_for_progress();
    if (ends && is_stalled()) end_stalled(stop);
    if (communicator_.rank() == 0) show_progress(Clock::now());
  }
}

void Monitor::look_for_progress() {
  for (std::size_t member = 0; member < members_.size(); ++member) {
    const auto operations = board_.place(static_cast<int>(member)).operations.load(std::memory_order_relaxed);
    if (operations != seen_[member]) last_progress_ = Clock::now();
    seen_[member] = operations;
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

NodeReport Monitor::report() const {
  NodeReport report{.host = host_name(),
                    .idle_s = std::chrono::duration<double>(Clock::now() - last_progress_).count()};
  for (std::size_t member = 0; member < members_.size(); ++member) {
    const bool stopped = is_stopped(members_[member].process);
    const std::string doing = describe(board_.place(static_cast<int>(member)));
    report.doing[stopped ? fmt::format("{} while {}", stopped_text, doing) : doing].push_back(members_[member].rank);
  }
  return report;
}

void Monitor::end_stalled(const std::stop_token& stop) {
  Answers answers = poll_.ask([this] { return report(); }, stop);
  for (const NodeReport& other : answers.reports) {
    const auto idle = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(other.idle_s));
    last_progress_ = std::max(last_progress_, Clock::now() - idle);
  }
  if (!is_stalled() || answers.has_lower || stop.stop_requested()) return;
  answers.reports.push_back(report());
  abort(fmt::format("no rank has made progress for {:g} s (--timeout); {}", timeout_.count(),
                    fmt::join(activities(answers), "; ")),
        3);
}

void end_job(int status) {
  std::cout.flush();
  std::fflush(nullptr);
  std::this_thread::sleep_for(time_to_read_output);
  end_within_limit();
  // For MPI_COMM_WORLD MPICH has the launcher end the ranks. For any other communicator it sends them a message, which
  // a stopped rank does not read.
  MPI_Abort(MPI_COMM_WORLD, status);
  _exit(status);
}

}  // namespace commlens

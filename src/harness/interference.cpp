#include "harness/interference.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/json.hpp"
#include "harness/placement.hpp"
#include "transport/mpi_library.hpp"

namespace commlens {

namespace {

constexpr double noticeable_cores = 0.1;  ///< kept busy by others: below it nobody is looked for
constexpr double least_share = 0.05;      ///< of a core, for a program to be named
constexpr std::size_t most_programs = 3;
constexpr double unknown = -1;
/// Nodes are read when at least so much time has passed since the last reading. The exchanges that this takes then stay
/// below a thousandth of the time.
constexpr double least_of_nodes_s = 0.05;

double seconds_between(std::chrono::steady_clock::time_point begin, std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

double ticks_per_second() { return static_cast<double>(sysconf(_SC_CLK_TCK)); }

/// What a reading costs: the time in which others have its core, as they do on a busy machine, is none of it.
ReadingBudget::Clock::duration processor_time() {
  return std::chrono::microseconds(static_cast<std::int64_t>(1e6 / CLOCKS_PER_SEC * static_cast<double>(std::clock())));
}

/// The content of a file of a process; empty if it cannot be read, as after the process has ended. Without a stream:
/// there is a file of each process.
std::string content_of(const std::filesystem::path& file) {
  std::array<char, 4096> text{};
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "";
  const ssize_t length = ::read(descriptor, text.data(), text.size());
  close(descriptor);
  return {text.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

std::vector<int> union_of(const std::vector<std::string>& ranges) {
  std::set<int> cores;
  for (const std::string& text : ranges) {
    for (const int core : numbers(text)) cores.insert(core);
  }
  return {cores.begin(), cores.end()};
}

std::optional<double> known(double value) { return value == unknown ? std::nullopt : std::optional(value); }

/// The whole numbers at the beginning of the text; nothing where there are fewer. One that is too large, as a limit of
/// a process may be, is 0.
template <std::size_t count>
std::optional<std::array<std::int64_t, count>> numbers_from(std::string_view text) {
  std::array<std::int64_t, count> numbers{};
  for (std::int64_t& number : numbers) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc::invalid_argument) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return numbers;
}

/// "mpirun" from "mpirun\n"; no byte that a terminal would obey.
std::string printable(std::string name) {
  std::erase_if(name, [](unsigned char byte) { return byte < ' ' || byte == 0x7f; });
  return name;
}

}  // namespace

std::optional<CoreTimes> core_times(std::istream& text, const std::vector<int>& cores, double ticks_per_second) {
  // In the order of the line; guest and guest_nice, which follow, are part of user and nice.
  enum Field : std::size_t { core, user, nice, system, idle, waiting, interrupts, soft_interrupts, stolen, count };
  CoreTimes times;
  std::size_t found = 0;
  for (std::string line; std::getline(text, line) && line.starts_with("cpu");) {
    // "cpu" is the sum of all, "cpu3 10 ..." a core.
    const auto numbers = numbers_from<count>(std::string_view(line).substr(std::string_view("cpu").size()));
    if (!numbers || line.starts_with("cpu ") || !std::binary_search(cores.begin(), cores.end(), numbers->front()))
      continue;
    const auto& of = *numbers;
    const auto busy = of[user] + of[nice] + of[system] + of[interrupts] + of[soft_interrupts];
    times.busy_s += static_cast<double>(busy) / ticks_per_second;
    times.stolen_s += static_cast<double>(of[stolen]) / ticks_per_second;
    ++found;
  }
  return found > 0 && found == cores.size() ? std::optional(times) : std::nullopt;
}

std::optional<ProcessTime> process_time(const std::string& text, double ticks_per_second) {
  // From the state on: 10 fields, utime, stime, 23 fields, the core (man 5 proc).
  enum Field : std::size_t { user = 10, system = 11, core = 35, count = 36 };
  // The name may have spaces and parentheses of its own.
  const auto begin = text.find('(');
  const auto end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  const std::size_t state = std::string_view(") R").size();
  const auto fields = numbers_from<count>(std::string_view(text).substr(std::min(end + state, text.size())));
  if (!fields) return std::nullopt;
  return ProcessTime{.name = printable(text.substr(begin + 1, end - begin - 1)),
                     .used_s = static_cast<double>((*fields)[user] + (*fields)[system]) / ticks_per_second,
                     .core = static_cast<int>((*fields)[core])};
}

std::optional<double> waited_s(const std::string& text) {
  const auto nanoseconds = numbers_from<2>(text);
  return nanoseconds ? std::optional(static_cast<double>((*nanoseconds)[1]) * 1e-9) : std::nullopt;
}

NodeWatch::NodeWatch(std::vector<int> cores, std::vector<int> job, std::string host, std::filesystem::path proc)
    : cores_(std::move(cores)), job_(std::move(job)), host_(std::move(host)), proc_(std::move(proc)) {}

std::optional<CoreTimes> NodeWatch::cores_now() const {
  std::ifstream text(proc_ / "stat");
  return core_times(text, cores_, ticks_per_second());
}

measure::Interference NodeWatch::read(double job_s, Clock::time_point now) {
  measure::Interference result{.cores = static_cast<int>(cores_.size())};
  if (!cores_budget_.allows(now)) return result;
  const auto before = processor_time();
  const auto times = cores_now();
  if (!times) return result;
  const Reading reading{.when = now, .cores = *times, .job_s = job_s};
  if (last_) {
    result.seconds = seconds_between(last_->when, now);
    const double others_s = reading.cores.busy_s - last_->cores.busy_s - (job_s - last_->job_s);
    // The kernel counts in ticks: of less than one on each core nothing is known.
    const double least_s = static_cast<double>(cores_.size()) / ticks_per_second();
    result.busy_cores = others_s > least_s ? others_s / result.seconds : 0;
    result.stolen_cores = std::max(0.0, reading.cores.stolen_s - last_->cores.stolen_s) / result.seconds;
  }
  last_ = reading;
  cores_budget_.spent(Clock::now(), processor_time() - before);
  const bool disturbed = result.busy_cores.value_or(0) > noticeable_cores;
  // A look now and then is what the next one is compared with, also while all is quiet.
  const bool is_early = !processes_budget_.allows(now);
  if (!is_early || (disturbed && !has_looked_early_)) look_for_programs(now);
  has_looked_early_ = has_looked_early_ || (is_early && disturbed);
  if (disturbed) result.programs = programs_;
  return result;
}

NodeWatch::Processes NodeWatch::processes_now() const {
  Processes processes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(proc_, error)) {
    const std::string name = entry.path().filename();
    if (std::isdigit(static_cast<unsigned char>(name.front())) == 0) continue;
    const int process = std::stoi(name);
    if (std::find(job_.begin(), job_.end(), process) != job_.end()) continue;
    const auto time = process_time(content_of(entry.path() / "stat"), ticks_per_second());
    if (time) processes[process] = *time;
  }
  return processes;
}

/// What a process used before it was first seen counts only where it began after the last look. Processes of one name
/// are one program.
void NodeWatch::look_for_programs(Clock::time_point now) {
  const auto begin = processor_time();
  const Processes before = std::exchange(processes_, processes_now());
  const double seconds = seconds_between(std::exchange(looked_, now), now);
  std::map<std::string, double> used_s;
  for (const auto& [process, time] : processes_) {
    if (!std::binary_search(cores_.begin(), cores_.end(), time.core)) continue;
    const auto earlier = before.find(process);
    used_s[time.name] += time.used_s - (earlier == before.end() ? 0 : earlier->second.used_s);
  }
  programs_.clear();
  for (const auto& [name, used] : used_s) {
    if (!before.empty() && used > least_share * seconds) programs_.push_back({name, host_, used / seconds});
  }
  std::sort(programs_.begin(), programs_.end(), [](const auto& a, const auto& b) { return a.cores > b.cores; });
  programs_.resize(std::min(programs_.size(), most_programs));
  processes_budget_.spent(Clock::now(), processor_time() - begin);
}

InterferenceWatch::InterferenceWatch(const transport::Communicator& communicator, const transport::Communicator& node,
                                     const device::Device& device, const std::vector<measure::Placement>& placement)
    : communicator_(communicator), node_(node), device_(device) {
  const measure::Placement& place = placement.at(static_cast<std::size_t>(communicator.rank()));
  host_ = place.host;
  for (const std::string& process : node.gather(std::to_string(getpid()))) job_.push_back(std::stoi(process));
  const auto cores = union_of(node.gather(place.cores));
  if (node.rank() == 0) node_watch_.emplace(cores, job_, host_);
  most_cores_ = static_cast<int>(communicator.maximum(static_cast<double>(cores.size())));
  const auto shares_gpu = [&](const measure::Placement& other) {
    return place.gpu && other.gpu && other.gpu->uuid == place.gpu->uuid;
  };
  const auto first = std::find_if(placement.begin(), placement.end(), shares_gpu);
  if (first != placement.end() && first->rank == place.rank) {
    gpu_ranks_ = static_cast<std::size_t>(std::count_if(placement.begin(), placement.end(), shares_gpu));
  }
  unread_s_ = least_of_nodes_s;
  read(0);
}

InterferenceWatch::RankReading InterferenceWatch::rank_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::string line;
  schedstat_.clear();
  schedstat_.seekg(0);
  std::getline(schedstat_, line);
  return {.when = std::chrono::steady_clock::now(),
          .used_s = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
          .waited_s = waited_s(line),
          .switches = static_cast<double>(usage.ru_nivcsw)};
}

std::optional<measure::Interference> InterferenceWatch::read(std::size_t samples) {
  if (transport::mpi_is_simulated()) return std::nullopt;
  const RankReading now = rank_now();
  const RankReading before = std::exchange(last_, now);
  const double seconds = seconds_between(before.when, now.when);
  const auto of_gpu = shared_gpu();
  // All in one exchange, as most often nothing disturbs; names are exchanged only if something does.
  enum : std::size_t { of_rank_s, waiting, switches, gpu_is_shared };
  std::vector<double> most{
      seconds, now.waited_s && before.waited_s ? std::min(1.0, (*now.waited_s - *before.waited_s) / seconds) : unknown,
      samples > 0 ? (now.switches - before.switches) / static_cast<double>(samples) : unknown, of_gpu ? 1.0 : 0.0};
  communicator_.maximum(most);
  measure::Interference result{.seconds = most[of_rank_s],
                               .cores = most_cores_,
                               .waiting_fraction = known(most[waiting]),
                               .switches_per_sample = known(most[switches])};
  unread_s_ += most[of_rank_s];
  if (unread_s_ >= least_of_nodes_s) read_nodes(result);
  if (most[gpu_is_shared] > 0) result.gpus = shared_gpus(of_gpu);
  const bool is_known = result.busy_cores || result.waiting_fraction || !result.gpus.empty();
  return is_known ? std::optional(result) : std::nullopt;
}

/// Collective.
void InterferenceWatch::read_nodes(measure::Interference& result) {
  unread_s_ = 0;
  const RankReading now = rank_now();  // the last exchange may have been long, as one rank was late
  const double job_s = node_.sum_of_reals(now.used_s);
  const measure::Interference of_node = node_watch_ ? node_watch_->read(job_s, now.when) : measure::Interference{};
  enum : std::size_t { of_node_s, busy, stolen };
  std::vector<double> most{of_node.seconds, of_node.busy_cores.value_or(unknown),
                           of_node.stolen_cores.value_or(unknown)};
  communicator_.maximum(most);
  result.busy_cores = known(most[busy]);
  result.stolen_cores = known(most[stolen]);
  if (result.busy_cores) result.seconds = most[of_node_s];
  if (most[busy] > noticeable_cores) of_busiest(of_node, result);
}

/// Collective: what the busiest node knows.
void InterferenceWatch::of_busiest(const measure::Interference& of_node, measure::Interference& result) const {
  Json programs = Json::array();
  for (const auto& [name, host, cores] : of_node.programs) programs.push_back({name, host, cores});
  const bool is_busiest = node_watch_ && of_node.busy_cores == result.busy_cores;
  const Json busiest =
      parse_json(communicator_.first(is_busiest ? line_of({of_node.seconds, of_node.cores, programs}) : std::string{}));
  result.seconds = busiest[0];
  result.cores = busiest[1];
  for (const auto& program : busiest[2]) result.programs.push_back({program[0], program[1], program[2]});
}

/// In a container the driver has other numbers for processes than this program: then only how many they are is known.
std::optional<measure::SharedGpu> InterferenceWatch::shared_gpu() {
  const auto now = ReadingBudget::Clock::now();
  if (gpu_ranks_ == 0 || !gpu_budget_.allows(now)) return std::nullopt;
  const auto processes = device_.processes();
  const auto ended = ReadingBudget::Clock::now();
  gpu_budget_.spent(ended, ended - now);
  if (processes.size() <= gpu_ranks_) return std::nullopt;
  measure::SharedGpu shared{.host = host_, .ordinal = device_.gpu()->ordinal, .processes = {}, .utilization = {}};
  std::size_t ours = 0;
  double utilization = 0;
  for (const device::GpuProcess& process : processes) {
    if (std::find(job_.begin(), job_.end(), process.number) != job_.end()) {
      ++ours;
      continue;
    }
    const std::string name = printable(read_line("/proc/" + std::to_string(process.number) + "/comm"));
    if (!name.empty()) shared.processes.push_back(name);
    utilization += process.utilization.value_or(0);
  }
  if (ours != gpu_ranks_) {
    shared.processes.clear();
  } else {
    shared.utilization = std::min(1.0, utilization);
  }
  return shared;
}

/// Collective: of all ranks.
std::vector<measure::SharedGpu> InterferenceWatch::shared_gpus(const std::optional<measure::SharedGpu>& mine) const {
  std::vector<measure::SharedGpu> shared;
  const Json json =
      mine ? Json{mine->host, mine->ordinal, mine->processes, mine->utilization.value_or(unknown)} : Json();
  for (const std::string& text : communicator_.gather(line_of(json))) {
    const Json of_rank = parse_json(text);
    if (of_rank.is_null()) continue;
    shared.push_back({.host = of_rank[0],
                      .ordinal = of_rank[1],
                      .processes = of_rank[2],
                      .utilization = known(of_rank[3].get<double>())});
  }
  return shared;
}

}  // namespace commlens

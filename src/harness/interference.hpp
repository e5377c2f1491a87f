// What other programs, and the hypervisor, take from the job. It is read between the cases, outside the timed regions:
// /proc says how long the job's cores were busy, and the job's processes know how much of that was theirs.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "measure/record.hpp"
#include "transport/communicator.hpp"

namespace commlens {

/// What cores did since the node has started, in seconds, added up.
struct CoreTimes {
  double busy_s = 0;
  double stolen_s = 0;  ///< by the hypervisor
};

/// From the text of /proc/stat. Nothing unless it has a line for each of the cores.
std::optional<CoreTimes> core_times(std::istream& text, const std::vector<int>& cores, double ticks_per_second);

/// What a process has used since it began.
struct ProcessTime {
  std::string name;
  double used_s = 0;
  int core = -1;  ///< on which it ran last
};

/// From the text of /proc/PID/stat. Nothing where it is cut short.
std::optional<ProcessTime> process_time(const std::string& text, double ticks_per_second);

/// From the text of /proc/PID/schedstat: seconds in which the main thread was ready and had no core.
std::optional<double> waited_s(const std::string& text);

/// Keeps the time for readings of one kind below 0.05% of all time.
class ReadingBudget {
 public:
  using Clock = std::chrono::steady_clock;
  /// Whether another reading may begin.
  [[nodiscard]] bool allows(Clock::time_point now) const { return now - ended_ >= share * cost_; }
  void spent(Clock::time_point ended, Clock::duration cost) {
    cost_ = cost;
    ended_ = ended;
  }

 private:
  static constexpr int share = 2000;
  Clock::duration cost_{};
  Clock::time_point ended_;
};

/// Watches the cores of a node. One rank of the node has it.
class NodeWatch {
 public:
  using Clock = ReadingBudget::Clock;
  /// `cores` are those of the job, `job` its processes; `proc` is the root of /proc, so that tests can bring their own.
  NodeWatch(std::vector<int> cores, std::vector<int> job, std::string host, std::filesystem::path proc = "/proc");

  /// Since the last reading that was made; `job_s` is what the job's processes have used since they began, and
  /// `now` is the time of this reading. Without `busy_cores` where it would be too soon, or nothing can be read.
  measure::Interference read(double job_s, Clock::time_point now);

 private:
  struct Reading {
    Clock::time_point when;
    CoreTimes cores;
    double job_s = 0;
  };
  using Processes = std::map<int, ProcessTime>;

  [[nodiscard]] std::optional<CoreTimes> cores_now() const;
  [[nodiscard]] Processes processes_now() const;
  void look_for_programs(Clock::time_point now);

  std::vector<int> cores_;
  std::vector<int> job_;
  std::string host_;
  std::filesystem::path proc_;
  std::optional<Reading> last_;
  ReadingBudget cores_budget_;
  Processes processes_;
  Clock::time_point looked_;
  bool has_looked_early_ = false;  ///< once, for the first disturbance of a short run
  ReadingBudget processes_budget_;
  std::vector<measure::OtherProgram> programs_;  ///< between the last two looks
};

/// Watches all nodes and GPUs of a job.
class InterferenceWatch {
 public:
  /// Collective over both communicators, which must outlive it, as the device. `placement` is by rank.
  InterferenceWatch(const transport::Communicator& communicator, const transport::Communicator& node,
                    const device::Device& device, const std::vector<measure::Placement>& placement);
  InterferenceWatch(InterferenceWatch&&) = delete;

  /// Collective: since the last call, in which this many samples were taken. Nothing where nothing can be read.
  std::optional<measure::Interference> read(std::size_t samples);

 private:
  struct RankReading {
    std::chrono::steady_clock::time_point when;
    double used_s = 0;
    std::optional<double> waited_s;
    double switches = 0;
  };
  [[nodiscard]] RankReading rank_now();
  void read_nodes(measure::Interference& result);
  [[nodiscard]] std::optional<measure::SharedGpu> shared_gpu();
  [[nodiscard]] std::vector<measure::SharedGpu> shared_gpus(const std::optional<measure::SharedGpu>& mine) const;
  void of_busiest(const measure::Interference& of_node, measure::Interference& result) const;

  const transport::Communicator& communicator_;
  const transport::Communicator& node_;
  const device::Device& device_;
  std::string host_;
  std::vector<int> job_;       ///< processes of the job on this node
  std::size_t gpu_ranks_ = 0;  ///< of the job on this rank's GPU; 0: another rank watches it, or there is none
  int most_cores_ = 1;         ///< of the job on a node
  double unread_s_ = 0;        ///< since the nodes were read, the same on all ranks
  std::optional<NodeWatch> node_watch_;
  ReadingBudget gpu_budget_;
  std::ifstream schedstat_{"/proc/self/schedstat"};  ///< open: most of the time of a reading would be opening it
  RankReading last_;
};

}  // namespace commlens

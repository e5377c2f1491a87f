// A record: what was run, with which settings, its samples, its validation; and the start that it belongs to.
// docs/records-reference.md explains every field and docs/record.schema.json is the schema of what is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "measure/declarations.hpp"
#include "measure/metric.hpp"

namespace commlens::measure {

using Value = std::variant<bool, std::int64_t, double, std::string>;

/// A parameter of a case with its value.
struct Parameter {
  std::string name;
  Value value;
  Role role = Role::setting;
  std::string unit;  ///< "B", or empty
};
using Parameters = std::vector<Parameter>;                 ///< in the order in which the benchmark declares them
using Facts = std::vector<std::pair<std::string, Value>>;  ///< in the order in which they were found

struct Gpu {
  int ordinal = 0;
  std::string name;
  std::string uuid;
  std::string pci;
  int numa_node = -1;  ///< -1: the machine does not say
  std::uint64_t memory_bytes = 0;
  double power_limit_W = 0;          ///< 0: the driver does not say
  double default_power_limit_W = 0;  ///< likewise
};

/// How far a network adapter is from a rank's GPU; without a GPU, from its cores.
enum class NicDistance { pcie_switch, same_numa_node, other_numa_node, unknown };
ENUM_NAMES(NicDistance, {pcie_switch, "same PCIe switch"}, {same_numa_node, "same NUMA node"},
           {other_numa_node, "other NUMA node"}, {unknown, "unknown"});

/// A network adapter with an active link.
struct Nic {
  std::string name;        ///< "mlx5_0", "hsn0", "eth0"
  std::string link_layer;  ///< "InfiniBand", "RoCE", "Slingshot", "Ethernet"
  double rate_Gbps = 0;    ///< nominal, each way; 0: the driver does not say
  int numa_node = -1;      ///< -1: the machine does not say
  NicDistance distance = NicDistance::unknown;
};

/// Where one rank runs.
struct Placement {
  int rank = 0;
  std::string host;
  std::string cores;       ///< as in /proc: "0-3,8"
  std::string numa_nodes;  ///< the nodes of those cores, likewise
  std::optional<Gpu> gpu;
  /// Of its node, those that are nearest to it.
  std::vector<Nic> nics = {};  // NOLINT(readability-redundant-member-init): it may be left out of a list
};

/// One launch of the job: what is the same for all of its records.
struct Start {
  std::string id;    ///< time, host, process
  std::string time;  ///< ISO 8601, UTC
  BenchmarkDeclaration benchmark;
  std::string backend;
  int ranks = 0;
  int nodes = 0;
  std::vector<std::string> transports;  ///< of this build, in the order in which they are shown
  std::size_t records = 0;              ///< that are written where no rank ends early
  std::vector<Placement> placement;
  std::vector<int> processes;      ///< their IDs on their nodes, by rank
  std::vector<std::string> notes;  ///< what was chosen where the user left it open
  std::map<std::string, std::string> versions;
  std::map<std::string, std::string> environment;
  std::vector<std::string> settings;  ///< the names in `environment` that change how bytes travel
  std::vector<std::string> command;
};

enum class Timing { batch, each };
ENUM_NAMES(Timing, {batch, "batch"}, {each, "each"});

/// How often an operation is repeated, and between what it is timed.
struct Repetition {
  Timing timing = Timing::batch;
  std::size_t repeat = 1;
  std::size_t warmup = 0;
  std::size_t batches = 1;
  double min_time_s = 0;        ///< 0: no such limit
  double until_ci_percent = 0;  ///< half the interval's width, of the median; 0: not asked for
  double max_time_s = 60;       ///< where min_time_s and until_ci_percent stop adding batches
};

/// What the hardware needs for the bytes of one operation, or for its arithmetic: measured in the same run, or nominal,
/// as `method` says. An operation that needs less time has exceeded it: then it was not reached when it was measured.
struct Ceiling {
  std::string name;    ///< "memory copy", "memory bandwidth", "link rate", "square GEMM" ...
  std::string method;  ///< a sentence: what was copied where, or multiplied, how often
  double seconds = 0;  ///< the least time for one operation
  double rate = 0;     ///< of the copy, of memory or of the arithmetic, in `unit`
  Unit unit = unit::GBps;
  bool library = false;  ///< what a library gives for a shape, which may be less than the hardware's
  std::string part;      ///< whose least time it is; empty: the operation's
};

/// A piece of an operation.
struct Part {
  std::string name;               ///< "reductions"
  std::string stream;             ///< parts of one stream cannot overlap with each other
  std::vector<double> samples_s;  ///< seconds per operation: alone the largest over the ranks, within it the mean
  bool within = false;            ///< measured within the operation; otherwise alone
};

/// When a piece of one operation began and ended, on the device's own clock.
struct Span {
  int rank = 0;
  std::string stream;
  std::string part;
  std::size_t step = 0;
  double start_s = 0;  ///< since a barrier just before the operation
  double end_s = 0;
};

struct Timeline {
  double seconds = 0;  ///< of the operation, the largest over the ranks
  std::vector<Span> spans;
};

/// One of several ways of doing the same, of which an application would use the fastest.
struct Candidate {
  std::string name;    ///< "pairwise+device"
  double seconds = 0;  ///< by which the application chooses
  std::string text;    ///< the name and its times, in the application's own words
};

/// From the right results.
struct Deviation {
  double largest = 0;  ///< of any element in any check
  double total = 0;    ///< over the elements of a check; of each rank the largest check, added up
};

/// Of the multiprocessors of the GPUs, right after the samples.
struct GpuClock {
  double least_MHz = 0;             ///< of all ranks
  double highest_MHz = 0;           ///< that the GPUs can have; the least of all ranks
  std::vector<std::string> limits;  ///< what held one of them back: "power", "temperature", "setting"
};

/// Of a rank while it operated.
struct PageFaults {
  double per_operation = 0;  ///< the median over the rounds that were timed, of the rank with most
  double seconds = 0;        ///< that one takes in new memory, on rank 0 after the samples
};

/// A process outside the job that ran on its cores.
struct OtherProgram {
  std::string name;  ///< as the kernel has it: at most 15 characters, no arguments
  std::string host;
  double cores = 0;  ///< how many it kept busy
};

/// A GPU of the job on which more processes run than the job's.
struct SharedGpu {
  std::string host;
  int ordinal = 0;
  std::vector<std::string> processes;  ///< names of the others; none where they cannot be seen from here
  std::optional<double> utilization;   ///< share of the time in which they used the multiprocessors
};

/// What other programs and the hypervisor took from the job while a case ran. What is not set is unknown.
struct Interference {
  double seconds = 0;                         ///< that were looked at
  int cores = 1;                              ///< of the job, on the node of `busy_cores`
  std::optional<double> busy_cores;           ///< kept busy by processes outside the job, on the node where most
  std::optional<double> stolen_cores;         ///< given to other machines by the hypervisor, on the node where most
  std::optional<double> waiting_fraction;     ///< of the time a rank was ready and had no core; the longest
  std::optional<double> switches_per_sample;  ///< involuntary, of the rank with most
  std::vector<OtherProgram> programs;         ///< those that used most
  std::vector<SharedGpu> gpus;
};

enum class ValidationStatus { passed, failed, off, not_reached };
ENUM_NAMES(ValidationStatus, {passed, "passed"}, {failed, "failed"}, {off, "off"}, {not_reached, "not reached"});

struct Validation {
  ValidationStatus status = ValidationStatus::not_reached;
  std::size_t checks = 0;
  std::size_t elements = 0;
  bool exact = true;                   ///< to the last bit; otherwise to rounding
  std::optional<Deviation> deviation;  ///< the largest of all checks
  std::string message;
};

enum class Status { ok, failed, skipped };
ENUM_NAMES(Status, {ok, "ok"}, {failed, "failed"}, {skipped, "skipped"});

/// One case.
struct Record {
  std::string time;  ///< end of the measurement, ISO 8601, UTC
  std::string benchmark;
  Parameters parameters;
  int ranks = 0;
  std::string transport;
  std::string memory;  ///< "device", or "device:host" where the two sides differ
  Repetition repetition;
  Status status = Status::ok;
  std::string reason;
  std::string operation;            ///< what one sample times: "round trip"
  std::vector<double> samples_s;    ///< seconds per operation, the largest over the ranks
  std::vector<CaseMetric> metrics;  ///< the first is the main metric
  double setup_s = 0;
  Validation validation;
  std::vector<Part> parts;
  Timeline timeline;
  std::map<std::string, double> calls;  ///< of communication functions in an operation, the mean over the ranks
  Facts facts;                          ///< what the benchmark counted or found
  std::map<std::string, std::vector<double>> series;  ///< one value per step: "relative_residual", by iteration
  std::vector<std::string> report;                    ///< in the application's own words; blocks part at empty lines
  std::optional<Candidate> candidate;
  std::vector<Ceiling> ceilings;
  std::string no_ceiling;                 ///< why there is none for its bytes; empty: there is, or none was asked for
  std::optional<GpuClock> gpu_clock;      ///< where the driver says it
  std::optional<PageFaults> page_faults;  ///< where an operation has one or more
  std::optional<Interference> interference;      ///< where /proc says it
  std::map<std::string, std::string> libraries;  ///< that this case has loaded: {"blas", "OpenBLAS 0.3.21"}
  std::map<std::string, std::string> selection;  ///< of the communication libraries: {"pml", "ob1"}

  /// The value of a parameter; nullptr: there is none of that name.
  [[nodiscard]] const Value* parameter(std::string_view name) const;
  /// The parameter of a role; nullptr: there is none.
  [[nodiscard]] const Parameter* parameter_of(Role role) const;
};

/// A value as text: true, 4096, 0.001, tall.
std::string text_of(const Value& value);

}  // namespace commlens::measure

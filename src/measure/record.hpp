// A record: what was run, where, with which settings, its samples, its statistics, its validation. docs/records.md
// explains every field and docs/record.schema.json is its schema.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "measure/statistics.hpp"

namespace commlens::measure {

using Value = std::variant<bool, std::int64_t, double, std::string>;
using Parameters = std::vector<std::pair<std::string, Value>>;  ///< in the order in which the benchmark declares them
using Facts = std::vector<std::pair<std::string, Value>>;       ///< in the order in which they were found

struct Gpu {
  int ordinal = 0;
  std::string name;
  std::string uuid;
  std::string pci;
  int numa_node = -1;  ///< -1: the machine does not say
  std::uint64_t memory_bytes = 0;
};

/// Where one rank runs.
struct Placement {
  int rank = 0;
  std::string host;
  std::string cores;       ///< as in /proc: "0-3,8"
  std::string numa_nodes;  ///< the nodes of those cores, likewise
  std::optional<Gpu> gpu;
};

/// What is the same in every record of one start of the program.
struct RunInformation {
  std::string run;  ///< identifies the start: time, host, process
  std::string backend;
  int ranks = 0;
  int nodes = 0;
  std::vector<Placement> placement;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  ///< what was chosen where the user left it open
  std::map<std::string, std::string> versions;
  std::map<std::string, std::string> environment;
  std::vector<std::string> command;
};

enum class Timing { batch, each };
std::string name(Timing timing);

/// How often an operation is repeated, and between what it is timed.
struct Repetition {
  Timing timing = Timing::batch;
  std::size_t repeat = 1;
  std::size_t warmup = 0;
  std::size_t batches = 1;
  double min_time_s = 0;        ///< 0: no such limit
  double until_ci_percent = 0;  ///< 0: not asked for
};

enum class Better { lower, higher };

/// A figure is a function of the time of one operation; its unit is the end of its name (`_us`, `_s`, `_GBps`,
/// `_per_s`).
struct Figure {
  std::string name;
  Better better = Better::lower;
  std::function<double(double seconds)> from_seconds;
};

/// What the hardware needs for the bytes of one operation, or for its arithmetic, measured in the same run.
struct Ceiling {
  std::string name;        ///< "memory copy", "peer copy", "square GEMM" ...
  std::string method;      ///< a sentence: what was copied where, or multiplied, how often
  double seconds = 0;      ///< the least time for one operation
  double copy_GBps = 0;    ///< of a copy
  double gemm_TFLOPs = 0;  ///< of a matrix product
  bool library = false;    ///< what a library gives for a shape, which may be less than the hardware's
  std::string part;        ///< whose least time it is; empty: the operation's
};

/// A piece of an operation.
struct Part {
  std::string name;               ///< "reductions"
  std::string stream;             ///< parts of one stream cannot overlap with each other
  std::vector<double> samples_s;  ///< seconds an operation: alone the largest over the ranks, within it the mean
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

enum class ValidationStatus { passed, failed, off, not_reached };

struct Validation {
  ValidationStatus status = ValidationStatus::not_reached;
  std::size_t checks = 0;
  std::size_t elements = 0;
  bool exact = true;                   ///< to the last bit; otherwise to rounding
  std::optional<Deviation> deviation;  ///< the largest of all checks
  std::string message;
};

enum class Status { ok, failed, skipped };

struct Record {
  std::string time;  ///< end of the measurement, ISO 8601, UTC
  std::string benchmark;
  Parameters parameters;
  std::string variant;  ///< the parameter in which the records of one case differ; empty: in none
  Repetition repetition;
  std::string transport;
  std::string memory;  ///< "device", or "device:host" where the two sides differ
  Status status = Status::ok;
  std::string reason;
  std::string operation;          ///< what one sample times: "round trip"
  std::vector<double> samples_s;  ///< seconds an operation, the largest over the ranks
  std::vector<Figure> figures;    ///< the first is the benchmark's own
  double setup_s = 0;
  Validation validation;
  std::vector<Part> parts;
  Timeline timeline;
  std::map<std::string, double> calls;  ///< of communication functions in an operation, the mean over the ranks
  Facts facts;                          ///< what the benchmark counted or found; a unit is the end of its name
  std::map<std::string, std::vector<double>> series;  ///< a value a step: "relative_residual", by iteration
  std::vector<std::string> report;                    ///< in the application's own words; blocks part at empty lines
  std::optional<Candidate> candidate;
  std::vector<Ceiling> ceilings;
};

/// Statistics of one figure over a record's samples; the record must have samples.
Statistics statistics_of(const Record& record, const Figure& figure);

/// The ceiling's time over the median time, of the part that it is of: 1 is all that the hardware can give. None
/// without samples, or where the ceiling was not measured (its time or rate is not a positive, finite number).
std::optional<double> fraction_of(const Record& record, const Ceiling& ceiling);

/// The least time in which an operation of these parts can be done where their streams overlap in full: that of the
/// stream whose parts take longest, one after the other. Each counts with its median. 0 without parts.
double ideal_seconds(const std::vector<Part>& parts);

/// What makes the numbers of a record unusable, or an empty text: no samples, a sample or a set-up time that is
/// negative or not finite, a sample for which a figure is not finite (a bandwidth of a time of zero).
std::string fault_of(const Record& record);

/// What is reported of a record: its own status and reason, but `failed` for an `ok` one with a fault. The harness
/// takes the exit status from it too, so that all agree.
struct Outcome {
  Status status = Status::ok;
  std::string reason;     ///< empty when ok
  bool measured = false;  ///< there are samples, and every figure of each is a finite number
};
Outcome outcome_of(const Record& record);

/// The value of a parameter, or nothing.
const Value* find(const Parameters& parameters, const std::string& name);

/// One line of JSON without the newline, as docs/record.schema.json says. It never holds a number that is not finite:
/// outcome_of says what becomes of such a record, and a ceiling without a fraction is left out.
std::string to_json(const RunInformation& run, const Record& record);

/// A file of records. Opening appends (or creates); each record is written whole and flushed to the operating system,
/// or not at all: where the disk fills up in the middle of a line, the file is cut back to its last whole record. Where
/// the file ends in the middle of a line already (a crash), the next record starts on a line of its own. Owns the file
/// descriptor. Throws RecordFileError, whose text names the file and the operating system's reason.
class RecordFile {
 public:
  explicit RecordFile(std::string path);
  RecordFile(RecordFile&& other) noexcept;
  RecordFile& operator=(RecordFile&& other) noexcept;
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;
  ~RecordFile();

  void append(const std::string& line);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void write_whole(const std::string& text);
  [[nodiscard]] bool ends_within_a_line() const;
  void close() noexcept;

  std::string path_;
  int descriptor_ = -1;
};

class RecordFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace commlens::measure

// The sequence of the MPI calls of this rank, in a file of its own beside the rank's counters. docs/trace.md says what
// an event is; python/commlens/profile/trace_files.py reads the file.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "counters.hpp"
#include "preload/clock.hpp"
#include "trace/fold.hpp"
#include "trace/section.hpp"
#include "trace/slots.hpp"
#include "trace/tables.hpp"

namespace commlens::profile {

constexpr int most_fields = 20;

/// What is known of a call when it returns. One that received from anybody, and does not know from whom yet, waits.
struct Event {
  std::uint32_t function;
  std::int32_t length;
  std::int64_t fields[most_fields];
  Times times;
  bool repeats;     ///< a test without result: several in a row are one
  bool is_waiting;  ///< for the source and the tag of its message
  std::int32_t source_field;
  std::int32_t tag_field;
};

/// A datatype as it lies in the file.
struct TypeEntry {
  char name[64];  ///< of a type of MPI; else empty
  std::int64_t size;
  std::int64_t lower_bound;
  std::int64_t extent;
  std::int64_t pieces;  ///< 0: unknown
};

/// Of one execution of an event, in ticks.
struct ExactTimes {
  std::uint64_t gap;
  std::uint64_t cpu;
  std::uint64_t call;
};

struct TraceHeader;

class Trace {
 public:
  /// MPI has started. `exact`: the times of each execution are kept too. Without room for the file nothing is recorded:
  /// who reads the file then finds it empty.
  void start(const char* file, bool exact);
  /// Events that wait are written as they are.
  void finish();
  [[nodiscard]] bool is_on() const { return header_ != nullptr; }
  /// Whether the calling thread is the one that is recorded.
  [[nodiscard]] bool records_this_thread();

  [[nodiscard]] std::int64_t number_of(MPI_Comm communicator);
  std::int64_t add(MPI_Comm communicator);
  void remove(std::int64_t communicator);
  [[nodiscard]] std::int64_t number_of_type(MPI_Datatype type);
  void forget_types();  ///< a handle may be another type's
  [[nodiscard]] static std::int64_t number_of_operation(std::uintptr_t operation);
  [[nodiscard]] std::int64_t members(MPI_Group group);
  /// `kind`: 1 for numbers of types, otherwise 0.
  std::int64_t array(const std::int64_t* values, std::size_t count, std::uint32_t kind = 0);

  /// Memory that grows.
  class Scratch {
   public:
    /// Room for so many until the next call; null: there is no memory.
    std::int64_t* of(std::size_t count);

   private:
    std::int64_t* items_ = nullptr;
    std::size_t capacity_ = 0;
  };
  Scratch numbers;  ///< of an array that becomes a field
  Scratch slots;    ///< of the requests of this call

  /// Takes the time since the call before.
  void begin(Times& times, std::uint64_t now) const;
  void end(Times& times, std::uint64_t now, std::uint64_t ticks);
  /// From here on the next gap counts: not what recording takes.
  void resume(std::uint64_t now) {
    last_cpu_ticks_ += now - last_end_;
    last_end_ = now;
  }
  void append(const Event& event, int slot);
  /// The message of an event that waits for it has come.
  void resolve(int slot, std::int64_t source, std::int64_t tag);
  /// Statuses for a call that is not interested in them; null for too many.
  [[nodiscard]] MPI_Status* statuses(std::int64_t count) { return count <= most_statuses ? statuses_ : nullptr; }
  void drop();

  Slots requests;
  Slots messages;

 private:
  static constexpr std::size_t most_waiting = 4096;
  static constexpr int most_communicators = 4096;
  static constexpr int most_statuses = 4096;
  /// After so many calls the pages of the file are released: calls that do not fold would take the program's memory.
  static constexpr std::uint64_t calls_in_memory = 1 << 15;

  void map(const char* file);
  void keep_times();
  void fold(const Event& event);
  void write_held();
  void write_waiting(bool all);
  std::int64_t describe(MPI_Datatype type);

  TraceHeader* header_ = nullptr;
  std::size_t mapped_ = 0;  ///< bytes
  bool is_exact_ = false;
  pid_t thread_ = 0;
  Section<TypeEntry> types_;
  Section<std::int64_t> numbers_;
  Section<ListTable::Entry> event_entries_;
  Section<ListTable::Entry> array_entries_;
  Section<Node> nodes_;
  Section<Node> pool_;
  Section<ExactTimes> exact_;
  ListTable events_;
  ListTable arrays_;
  Fold fold_;

  Event held_{};  ///< a test without result, which may be repeated
  bool has_held_ = false;
  Event* waiting_ = nullptr;  ///< a ring
  std::uint64_t first_waiting_ = 1;
  std::uint64_t next_waiting_ = 1;

  std::uintptr_t communicators_[most_communicators] = {};
  int communicators_used_ = 0;
  int last_communicator_ = 0;
  struct KnownType {
    std::uintptr_t handle;
    std::int64_t number;
  };
  static constexpr std::size_t most_known_types = 1024;
  KnownType known_types_[most_known_types] = {};

  MPI_Status statuses_[most_statuses] = {};

  std::uint64_t started_ = 0;
  std::uint64_t last_end_ = 0;
  std::uint64_t last_cpu_ns_ = 0;
  std::uint64_t last_cpu_ticks_ = 0;
  std::uint64_t long_gap_ = 0;  ///< ticks: from here on the CPU time is read
};
extern constinit Trace trace;

}  // namespace commlens::profile

// An MPI function as a replay calls it. generate.py makes the table of them from the tables of the profiling library.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "transport/activity.hpp"

namespace commlens::replay {

/// What a field of an event is.
enum class Role : std::uint8_t {
  send_buffer,
  send_count,
  send_counts,
  send_displacements,
  send_type,
  send_types,
  receive_buffer,
  receive_count,
  receive_counts,
  receive_displacements,
  receive_type,
  receive_types,
  both_count,  ///< of what is sent and of what is received
  both_type,
  dest,
  source,
  root,
  send_tag,
  receive_tag,
  operation,
  communicator,
  second_communicator,
  made_communicator,
  request,
  requests,
  made_request,
  message,
  made_message,
  group,
  number,
  array,
  flag,
  index,
  indices,
  ignored,
};

/// Who gets what from whom.
enum class Pattern : std::uint8_t {
  send,
  receive,
  sendrecv,
  sendrecv_replace,
  probe,
  mprobe,
  mrecv,
  buffer_attach,
  barrier,
  bcast,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  exscan,
  neighbor_allgather,
  neighbor_alltoall,
  make_communicator,
  free_communicator,
  start,
  startall,
  wait,
  waitall,
  waitany,
  waitsome,
  test,
  testall,
  testany,
  testsome,
  request_free,
  cancel,
};

enum class Mode : std::uint8_t { blocking, nonblocking, persistent };

constexpr bool sends_message(Pattern pattern) {
  return pattern == Pattern::send || pattern == Pattern::sendrecv || pattern == Pattern::sendrecv_replace;
}
constexpr bool receives_message(Pattern pattern) {
  return pattern == Pattern::receive || pattern == Pattern::sendrecv || pattern == Pattern::sendrecv_replace;
}
constexpr bool is_collective(Pattern pattern) {
  return pattern >= Pattern::barrier && pattern <= Pattern::neighbor_alltoall;
}
constexpr bool is_neighbor(Pattern pattern) {
  return pattern == Pattern::neighbor_allgather || pattern == Pattern::neighbor_alltoall;
}
constexpr bool is_reduction(Pattern pattern) { return pattern >= Pattern::reduce && pattern <= Pattern::exscan; }
constexpr bool is_of_requests(Pattern pattern) { return pattern >= Pattern::start; }

/// What is sent, or what is received: by one count, or by a count for each rank. Blocks lie one after the other, in the
/// order of ranks, wherever the program had them.
struct Side {
  static constexpr std::size_t no_type = static_cast<std::size_t>(-1);  ///< not significant

  bool is_used = false;
  bool in_place = false;
  std::int64_t count = 0;
  std::size_t type_number = no_type;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  // With a count for each rank; displacements in elements, with types in bytes.
  bool has_counts = false;
  std::vector<int> counts;
  std::vector<int> displacements;
  std::vector<MPI_Count> wide_counts;
  std::vector<MPI_Aint> wide_displacements;
  std::vector<std::size_t> type_numbers;
  std::size_t packed = 0;      ///< bytes of all blocks
  std::size_t data_bytes = 0;  ///< the same, without what lies between elements
  std::vector<MPI_Datatype> types;

  // Of one execution.
  void* data = nullptr;
  void* passed = nullptr;  ///< to MPI: the same, or its place on the stage
  [[nodiscard]] void* buffer() const { return in_place ? MPI_IN_PLACE : passed; }
};

struct Function;

/// An event, as its call wants it.
struct Arguments {
  static constexpr std::size_t no_operation = static_cast<std::size_t>(-1);

  const Function* function = nullptr;
  Side send;
  Side receive;
  int dest = MPI_PROC_NULL;
  int source = MPI_PROC_NULL;
  int root = 0;
  int send_tag = 0;
  int receive_tag = 0;
  MPI_Op operation = MPI_OP_NULL;
  std::size_t operation_number = no_operation;
  std::int64_t communicator = -1;
  std::int64_t second_communicator = -1;
  std::int64_t made_communicator = -1;
  std::int64_t request = -1;  ///< used or made
  std::int64_t message = -1;  ///< likewise
  std::vector<std::int64_t> requests;
  std::vector<std::int64_t> numbers;     ///< of what makes a communicator, in their order
  std::vector<std::vector<int>> arrays;  ///< likewise
  std::vector<int> group;                ///< ranks of MPI_COMM_WORLD
  std::int64_t flag = 0;
  std::int64_t index = -1;
  std::vector<std::int64_t> indices;

  // Of one execution.
  MPI_Comm communicator_handle = MPI_COMM_NULL;
  MPI_Comm second_handle = MPI_COMM_NULL;
  MPI_Comm* made_handle = nullptr;
  MPI_Group group_handle = MPI_GROUP_NULL;
  MPI_Request* request_handle = nullptr;
  MPI_Message* message_handle = nullptr;
  MPI_Status* status = MPI_STATUS_IGNORE;
  int called_flag = 0;  ///< that a probe returned

  [[nodiscard]] int number(std::size_t i) const { return static_cast<int>(numbers[i]); }
  [[nodiscard]] int color(std::size_t i) const { return numbers[i] == -1 ? MPI_UNDEFINED : number(i); }
  /// The trace has no names of kinds of memory and hardware: all but none are shared memory.
  [[nodiscard]] int split_type(std::size_t i) const { return numbers[i] == -1 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED; }
  [[nodiscard]] const int* array(std::size_t i) const { return arrays[i].data(); }
};

struct Function {
  std::string_view name;
  Pattern pattern;
  Mode mode;
  bool is_large;  ///< its counts are MPI_Count
  std::span<const Role> roles;
  /// The call of MPI; nullptr: what requests need is written by hand.
  int (*call)(Arguments&);
  const Call& activity;
};

/// Of a test or a probe that returns at once.
inline bool has_flag(const Arguments& call) { return call.function->roles.back() == Role::flag; }

/// Of a wait or a test: whether it completes those requests that the trace names, and not all.
inline bool completes_some(const Arguments& call) {
  const Pattern pattern = call.function->pattern;
  return pattern == Pattern::waitany || pattern == Pattern::waitsome || pattern == Pattern::testany ||
         pattern == Pattern::testsome;
}
/// A test or a probe without result.
inline bool found_nothing(const Arguments& call) {
  if (has_flag(call)) return call.flag == 0;
  const Pattern pattern = call.function->pattern;
  return (pattern == Pattern::testany && call.index < 0) || (pattern == Pattern::testsome && call.indices.empty());
}

/// Those that this MPI declares and that a replay executes.
std::span<const Function> functions();
/// nullptr: a replay does not execute it, or this MPI has no such function. Without its form for large counts it is
/// that for small ones.
const Function* find_function(std::string_view name);
/// Whether a replay executes the function where the MPI library has it.
bool is_replayed(std::string_view name);

/// A type of MPI by its name; MPI_DATATYPE_NULL: this MPI has none of this name.
MPI_Datatype named_type(std::string_view name);
/// Likewise; MPI_OP_NULL.
MPI_Op named_operation(std::string_view name);

}  // namespace commlens::replay

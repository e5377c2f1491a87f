// Where things lie in the file that a rank records into.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/trace.hpp"

/// MPI's operations; the number of one is its place, and the program's own have the number after the last.
#define COMMLENS_TRACE_OPERATIONS(of)                                                                        \
  of(MAX), of(MIN), of(SUM), of(PROD), of(LAND), of(BAND), of(LOR), of(BOR), of(LXOR), of(BXOR), of(MINLOC), \
      of(MAXLOC), of(REPLACE), of(NO_OP)
#define COMMLENS_TRACE_NAME(name) "MPI_" #name
#define COMMLENS_TRACE_HANDLE(name) MPI_##name

namespace commlens::profile {

/// At the beginning of the file. All are 8 bytes long.
struct TraceHeader {
  char mark[8];
  std::uint64_t version;
  std::uint64_t is_complete;  ///< the rank has come to its end
  std::uint64_t changing;     ///< not 0: the process was killed while the sequence changed
  std::uint64_t rank;
  std::uint64_t size;
  std::uint64_t calls;
  std::uint64_t dropped;
  std::uint64_t ticks;  ///< since the end of MPI_Init
  double nanoseconds_per_tick;
  std::uint64_t types;  ///< how many there are; the same of what follows
  std::uint64_t numbers;
  std::uint64_t events;
  std::uint64_t arrays;
  std::uint64_t nodes;
  std::uint64_t pool;
  std::uint64_t exact;
  std::uint64_t function_count;
  std::uint64_t names_at;  ///< offsets in the file; texts that end with a zero: functions, then operations
  std::uint64_t names_length;
  std::uint64_t types_at;
  std::uint64_t numbers_at;
  std::uint64_t events_at;
  std::uint64_t arrays_at;
  std::uint64_t nodes_at;
  std::uint64_t pool_at;
  std::uint64_t exact_at;
  std::uint64_t node_size;
};

/// The file has holes: only what is used takes room.
struct Layout {
  static constexpr std::size_t most_types = 4096;
  static constexpr std::size_t most_numbers = std::size_t{1} << 25;
  static constexpr std::size_t most_events = std::size_t{1} << 22;
  static constexpr std::size_t most_arrays = std::size_t{1} << 20;
  static constexpr std::size_t most_nodes = std::size_t{1} << 22;
  static constexpr std::size_t most_pooled = std::size_t{1} << 20;
  static constexpr std::size_t most_exact = std::size_t{1} << 26;
  static constexpr std::size_t names_room = 65536;

  static constexpr std::size_t after(std::size_t offset, std::size_t bytes) {
    return (offset + bytes + 4095) / 4096 * 4096;
  }

  std::size_t names = 4096;
  std::size_t types = after(names, names_room);
  std::size_t numbers = after(types, most_types * sizeof(TypeEntry));
  std::size_t events = after(numbers, most_numbers * sizeof(std::int64_t));
  std::size_t arrays = after(events, most_events * sizeof(ListTable::Entry));
  std::size_t nodes = after(arrays, most_arrays * sizeof(ListTable::Entry));
  std::size_t pool = after(nodes, most_nodes * sizeof(Node));
  std::size_t exact = after(pool, most_pooled * sizeof(Node));  ///< last: most files have none
  std::size_t end = after(exact, most_exact * sizeof(ExactTimes));
};

}  // namespace commlens::profile

#include "transport/thread_level.hpp"

#include <mpi.h>

#include <array>

namespace commlens::transport {

int native(ThreadLevel level) {
  return entry_of(std::array{MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE},
                  level);
}

ThreadLevel provided_thread_level() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  ThreadLevel highest = ThreadLevel::single;
  for (const ThreadLevel level : all_values<ThreadLevel>()) {
    if (native(level) <= provided) highest = level;
  }
  return highest;
}

}  // namespace commlens::transport

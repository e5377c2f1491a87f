#include "transport/thread_level.hpp"

#include <mpi.h>

namespace commlens::transport {

int native(ThreadLevel level) {
  switch (level) {
    case ThreadLevel::single:
      return MPI_THREAD_SINGLE;
    case ThreadLevel::funneled:
      return MPI_THREAD_FUNNELED;
    case ThreadLevel::serialized:
      return MPI_THREAD_SERIALIZED;
    default:
      return MPI_THREAD_MULTIPLE;
  }
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

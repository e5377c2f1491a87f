// Round trips of several threads of a rank at the same time, each with a thread of another rank: MPI_THREAD_MULTIPLE.
#pragma once

#include <barrier>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

#include "transport/communicator.hpp"

namespace commlens::transport {

/// Of one thread.
struct ThreadBuffers {
  const void* outgoing = nullptr;
  void* incoming = nullptr;
  std::size_t bytes = 0;
};

/// Threads that wait for operate(). They share a communicator, and each has a tag of its own.
class ThreadedPingPong {
 public:
  /// Of ranks without `buffers`, which have nothing to do, too. The communicator must outlive it.
  ThreadedPingPong(const Communicator& communicator, int peer, bool first, std::vector<ThreadBuffers> buffers,
                   std::size_t round_trips);
  ThreadedPingPong(ThreadedPingPong&&) = delete;
  ~ThreadedPingPong();

  /// All threads do all their round trips. Throws what one of them has thrown.
  void operate();

 private:
  void work(std::size_t thread);
  void communicate(std::size_t thread) const;

  const Communicator& communicator_;
  int peer_;
  bool first_;
  std::vector<ThreadBuffers> buffers_;
  std::size_t round_trips_;
  bool ends_ = false;  ///< ordered by the barrier, like the errors
  std::barrier<> barrier_;
  std::vector<std::exception_ptr> errors_;  ///< by thread
  std::vector<std::thread> threads_;
};

}  // namespace commlens::transport

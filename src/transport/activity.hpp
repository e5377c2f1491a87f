// What this process is doing right now, kept where a watchdog and a signal handler can read it.
//
// The one piece of process-wide state in commlens: a signal handler can reach nothing else. It costs a store an
// operation.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace commlens {

enum class Call : std::uint8_t {
  none,
  send,
  receive,
  isend,
  irecv,
  waitall,
  allreduce,
  alltoallv,
  broadcast,
  barrier,
  stream_wait,
  ccl_enqueue,
  filling,
  comparing,
  agreeing,
};

constexpr const char* name(Call call) {
  constexpr std::array names{"",
                             "MPI_Send",
                             "MPI_Recv",
                             "MPI_Isend",
                             "MPI_Irecv",
                             "MPI_Waitall",
                             "MPI_Allreduce",
                             "MPI_Alltoallv",
                             "MPI_Bcast",
                             "MPI_Barrier",
                             "waiting for a stream",
                             "a call of the ccl library",
                             "filling the buffers",
                             "comparing the results",
                             "waiting for the other ranks"};
  return names[static_cast<std::size_t>(call)];
}

/// Lives in memory that the ranks of a node share. Only its rank writes it; whoever reads may see a sentence half
/// changed, which a message for people can bear.
struct alignas(64) Activity {
  std::atomic<std::uint64_t> operations{0};  ///< grows with every operation: the sign of life
  std::atomic<Call> call{Call::none};
  std::array<char, 240> doing{};  ///< "timing latency over mpi, 4 B, device to device"
};

/// This process's; a private one until set_activity().
Activity& activity();
/// `shared` must outlive the process's last operation.
void set_activity(Activity& shared);

/// Marks a call into a communication library for as long as it lasts.
class InCall {
 public:
  explicit InCall(Call call) { activity().call.store(call, std::memory_order_relaxed); }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;
  ~InCall() { activity().call.store(Call::none, std::memory_order_relaxed); }
};

}  // namespace commlens

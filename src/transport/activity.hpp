// What this process is doing right now, kept where a watchdog and a signal handler can read it.
//
// The one piece of process-wide state in commlens: a signal handler can reach nothing else. It costs two stores an
// operation: one for the watchdog, one that counts.
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
  neighbor_alltoallv,
  broadcast,
  barrier,
  cart_get,
  cart_rank,
  cart_sub,
  comm_size,
  comm_free,
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
                             "MPI_Neighbor_alltoallv",
                             "MPI_Bcast",
                             "MPI_Barrier",
                             "MPI_Cart_get",
                             "MPI_Cart_rank",
                             "MPI_Cart_sub",
                             "MPI_Comm_size",
                             "MPI_Comm_free",
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

/// How often this process has made each call; only the thread that communicates writes it.
using CallCounts = std::array<std::uint64_t, static_cast<std::size_t>(Call::agreeing) + 1>;
inline CallCounts& call_counts() {
  static CallCounts counts{};
  return counts;
}

/// Marks a call into a communication library, or several in a row, for as long as it lasts.
class InCall {
 public:
  explicit InCall(Call call, std::size_t times = 1) {
    activity().call.store(call, std::memory_order_relaxed);
    call_counts()[static_cast<std::size_t>(call)] += times;
  }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;
  ~InCall() { activity().call.store(Call::none, std::memory_order_relaxed); }
};

}  // namespace commlens

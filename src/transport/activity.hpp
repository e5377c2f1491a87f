// The status of this process, for a watchdog and for signal handlers.
//
// The only process-wide mutable state in commlens, because signal handlers can access nothing else. It costs two stores
// per operation: one for the watchdog, and one that counts calls.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "measure/enum_names.hpp"

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
  peer,
  filling,
  comparing,
  agreeing,
};

/// As they read after "in" in a message of the watchdog.
constexpr auto names_of(Call /*type*/) {
  return enum_names<Call>({{Call::none, ""},
                           {Call::send, "MPI_Send"},
                           {Call::receive, "MPI_Recv"},
                           {Call::isend, "MPI_Isend"},
                           {Call::irecv, "MPI_Irecv"},
                           {Call::waitall, "MPI_Waitall"},
                           {Call::allreduce, "MPI_Allreduce"},
                           {Call::alltoallv, "MPI_Alltoallv"},
                           {Call::neighbor_alltoallv, "MPI_Neighbor_alltoallv"},
                           {Call::broadcast, "MPI_Bcast"},
                           {Call::barrier, "MPI_Barrier"},
                           {Call::cart_get, "MPI_Cart_get"},
                           {Call::cart_rank, "MPI_Cart_rank"},
                           {Call::cart_sub, "MPI_Cart_sub"},
                           {Call::comm_size, "MPI_Comm_size"},
                           {Call::comm_free, "MPI_Comm_free"},
                           {Call::stream_wait, "waiting for a stream"},
                           {Call::ccl_enqueue, "a call of the ccl library"},
                           {Call::peer, "an operation of the transport peer"},
                           {Call::filling, "filling the buffers"},
                           {Call::comparing, "comparing the results"},
                           {Call::agreeing, "waiting for the other ranks"}});
}

/// In memory that the ranks of a node share. Only its own rank writes it. A reader may see a partly updated text, which
/// is acceptable in a message.
struct alignas(64) Activity {
  std::atomic<std::uint64_t> operations{0};  ///< incremented by every operation: the heartbeat
  std::atomic<Call> call{Call::none};
  std::array<char, 240> status{};  ///< "timing latency over mpi, 4 B, device to device"
};

namespace own {
inline Activity before_sharing;
inline std::atomic<Activity*> activity{&before_sharing};
}  // namespace own

/// Of this process; in private memory until set_activity(). Inline, as it belongs to each operation that is timed.
inline Activity& activity() { return *own::activity.load(std::memory_order_relaxed); }
/// `shared` must outlive the process's last operation.
inline void set_activity(Activity& shared) { own::activity.store(&shared, std::memory_order_release); }

/// How many times this process has made each call. Only the thread that communicates writes it.
using CallCounts = std::array<std::uint64_t, static_cast<std::size_t>(Call::agreeing) + 1>;
inline CallCounts& call_counts() {
  static CallCounts counts{};
  return counts;
}

/// Marks a call of a communication library, or `times` in a row, while it exists.
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

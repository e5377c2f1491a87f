#include "transport/mpi_threads.hpp"

#include <mpi.h>

#include <utility>

#include "transport/activity.hpp"
#include "transport/mpi_calls.hpp"

namespace commlens::transport {

namespace {

const Call send_call{"MPI_Send"};
const Call receive_call{"MPI_Recv"};

}  // namespace

ThreadedPingPong::ThreadedPingPong(const Communicator& communicator, int peer, bool first,
                                   std::vector<ThreadBuffers> buffers, std::size_t round_trips)
    : communicator_(communicator),
      peer_(peer),
      first_(first),
      buffers_(std::move(buffers)),
      round_trips_(round_trips),
      barrier_(static_cast<std::ptrdiff_t>(buffers_.size() + 1)),
      errors_(buffers_.size()) {
  for (std::size_t thread = 0; thread < buffers_.size(); ++thread)
    threads_.emplace_back([this, thread] { work(thread); });
}

ThreadedPingPong::~ThreadedPingPong() {
  ends_ = true;
  barrier_.arrive_and_wait();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadedPingPong::operate() {
  // The counts of calls belong to this thread: it counts for all.
  const InCall sends(send_call, buffers_.size() * round_trips_);
  const InCall receives(receive_call, buffers_.size() * round_trips_);
  barrier_.arrive_and_wait();
  barrier_.arrive_and_wait();
  for (const std::exception_ptr& error : errors_) {
    if (error) std::rethrow_exception(error);
  }
}

void ThreadedPingPong::work(std::size_t thread) {
  while (true) {
    barrier_.arrive_and_wait();
    if (ends_) return;
    try {
      communicate(thread);
    } catch (...) {
      errors_[thread] = std::current_exception();
    }
    barrier_.arrive_and_wait();
  }
}

void ThreadedPingPong::communicate(std::size_t thread) const {
  const ThreadBuffers& buffers = buffers_[thread];
  const auto tag = static_cast<int>(thread);
  const auto send = [&] {
    mpi_calls::in_pieces(buffers.bytes, mpi_calls::longest_message, [&](std::size_t offset, int count) {
      CALL_MPI(MPI_Send, static_cast<const std::byte*>(buffers.outgoing) + offset, count, MPI_BYTE, peer_, tag,
               communicator_.handle());
    });
  };
  for (std::size_t i = 0; i < round_trips_; ++i) {
    if (first_) send();
    mpi_calls::in_pieces(buffers.bytes, mpi_calls::longest_message, [&](std::size_t offset, int count) {
      CALL_MPI(MPI_Recv, static_cast<std::byte*>(buffers.incoming) + offset, count, MPI_BYTE, peer_, tag,
               communicator_.handle(), MPI_STATUS_IGNORE);
    });
    if (!first_) send();
  }
}

}  // namespace commlens::transport

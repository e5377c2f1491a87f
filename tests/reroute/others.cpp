// Programs that leave a call, complete requests by themselves, come late, move their data, see
// what is staged, or send in several threads.
//   others NAME [CALL|BYTES]
#include <unistd.h>

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "vectors.hpp"

namespace {

std::jmp_buf after_error;
void jump(MPI_Comm*, int*, ...) { std::longjmp(after_error, 1); }

/// A rank's error handler leaves the call in which it is called.
void jumps() {
#ifdef MPICH_VERSION
  return;  // Debian's does not check arguments
#endif
  agree();
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(jump, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  static const Vector data(many);
  if (world_rank() == 0 && setjmp(after_error) == 0) {
    MPI_Allreduce(MPI_IN_PLACE, data.data(), -1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    require(false, "MPI has not called the error handler");
  }
  agree();
  MPI_Errhandler_free(&handler);
}

/// A program, or a tool in it, whose function completes the request.
void own_wait() {
  agree();
  const Vector input(many);
  const Vector output(many);
  input.fill(1);
  MPI_Request request;
  MPI_Iallreduce(input.data(), output.data(), many, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  require(output.has(size_of(MPI_COMM_WORLD)), "the sum");
}

/// Rank 0 waits half a second for the others, in the call of that number.
void late(int late_call) {
  const Vector input(many);
  const Vector output(many);
  input.fill(1);
  for (int call = 1; call <= 3; ++call) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (call == late_call && world_rank() > 0) usleep(500'000);
    reduce(input, output);
    require(output.has(size_of(MPI_COMM_WORLD)), "the sum");
  }
}

/// After the agreement the data is on the host.
void moved() {
  const Vector before(many);
  const Vector result(many);
  reduce(before, result);  // which MPI makes
  const Vector input(many, Memory::host);
  const Vector output(many, Memory::host);
  input.fill(1);
  for (int call = 0; call < 3; ++call) reduce(input, output);
  require(output.has(size_of(MPI_COMM_WORLD)), "a sum");
}

/// A call takes its data through pinned memory: `bytes` to it and back.
void staged(std::size_t bytes) {
  const Vector input(many);
  const Vector output(many);
  input.fill(1);
  for (std::size_t rerouted = 0; rerouted < 3; ++rerouted) {
    reduce(input, output);
    require(output.has(size_of(MPI_COMM_WORLD)), "a sum");
    for (const int to_gpu : {0, 1}) require(fake_gpu_staged_bytes(to_gpu) == rerouted * bytes, "what is staged");
  }
}

/// Messages of all lengths with the next rank, in the thread's own tag.
void exchange_messages(MPI_Comm comm, int thread) {
  fake_gpu_use(world_rank());
  const Vector data(many);
  for (int length = 1; length <= many; length *= 2) {
    const int other = world_rank() ^ 1;
    data.fill(length + thread);
    for (const bool sends : {world_rank() % 2 == 0, world_rank() % 2 != 0}) {
      if (sends) MPI_Send(data.data(), length, MPI_DOUBLE, other, thread, comm);
      if (!sends) MPI_Recv(data.data(), length, MPI_DOUBLE, other, thread, comm, MPI_STATUS_IGNORE);
    }
    require(data.has(length + thread), "a message of thread " + std::to_string(thread));
  }
}

/// Threads send and receive on one communicator, from its first message on.
void message_threads() {
  for (int round = 0; round < 20; ++round) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) threads.emplace_back(exchange_messages, comm, thread);
    for (std::thread& thread : threads) thread.join();
    MPI_Comm_free(&comm);
  }
}

}  // namespace

#ifdef WITH_OWN_WAIT
extern "C" int MPI_Wait(MPI_Request* request, MPI_Status* status) { return PMPI_Wait(request, status); }
#endif

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  int level = 0;
  MPI_Init_thread(&argc, &argv, name == "message-threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  fake_gpu_use(world_rank());
  if (name == "jumps") jumps();
  if (name == "own-wait") own_wait();
  if (name == "late") late(std::atoi(argv[2]));
  if (name == "moved") moved();
  if (name == "staged") staged(std::strtoull(argv[2], nullptr, 10));
  if (name == "message-threads" && level == MPI_THREAD_MULTIPLE) message_threads();
  MPI_Finalize();
  std::puts("good");
  return 0;
}

// What a program may rely on beside the results: progress, threads, requests, errors, attributes, endings.
//   scenarios NAME
#include <malloc.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "vectors.hpp"

namespace {

/// Rank 0 is in a collective, and another rank needs MPI to make progress there before it comes.
void progress() {
  agree();
  const Vector input(many);
  const Vector output(many);
  input.fill(1);
  constexpr int large = 1 << 22;
  std::vector<double> message(large, 7.0);
  double* exposed = nullptr;
  MPI_Win window;
  MPI_Win_allocate(sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window);
  *exposed = world_rank();
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) {
    MPI_Request request;
    MPI_Isend(message.data(), large, MPI_DOUBLE, size_of(MPI_COMM_WORLD) - 1, 1, MPI_COMM_WORLD, &request);
    reduce(input, output);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    usleep(100'000);
    if (world_rank() == size_of(MPI_COMM_WORLD) - 1) {
      MPI_Recv(message.data(), large, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    const double one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Accumulate(&one, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    reduce(input, output);
  }
  require(output.has(size_of(MPI_COMM_WORLD)), "the sum");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, world_rank(), 0, window);
  if (world_rank() == 0) require(*exposed == size_of(MPI_COMM_WORLD) - 1, "the accumulated value");
  MPI_Win_unlock(world_rank(), window);
  MPI_Win_free(&window);
}

void use_comm(MPI_Comm comm, int thread) {
  fake_gpu_use(world_rank());
  const Vector input(many);
  const Vector output(many);
  for (int call = 0; call < 50; ++call) {
    input.fill(call + thread);
    reduce(input, output, comm);
    require(output.has((call + thread) * size_of(comm)), "a sum in thread " + std::to_string(thread));
  }
}

void threads() {
  MPI_Comm comms[2];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::thread other(use_comm, comms[1], 1);
  use_comm(comms[0], 0);
  other.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

/// Communicators come and go, more than NCCL's may be in use at a time. MPI's own memory grows in some of the
/// eight parts and shrinks in others. If each communicator left memory behind, it would grow in all.
void growth() {
  const Vector input(many);
  const Vector output(many);
  input.fill(1);
  const auto allocated = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  int grown = 0;
  for (int window = 0; window < 8; ++window) {
    const std::size_t before = allocated();
    for (int round = 0; round < 25; ++round) {
      MPI_Comm comm;
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      for (int call = 0; call < 3; ++call) reduce(input, output, comm);
      require(output.has(size_of(comm)), "the sum of round " + std::to_string(round));
      MPI_Comm_free(&comm);
    }
    grown += allocated() > before ? 1 : 0;
  }
  require(grown < 8, std::to_string(grown) + " of 8 times, 25 communicators left memory behind");
}

int copies = 0;
int deletions = 0;
int copy_attribute(MPI_Comm, int, void*, void* value, void* copy, int* is_copied) {
  ++copies;
  *static_cast<void**>(copy) = value;
  *is_copied = 1;
  return MPI_SUCCESS;
}
int delete_attribute(MPI_Comm, int, void*, void*) {
  ++deletions;
  return MPI_SUCCESS;
}

/// The program's attributes are copied and deleted as often as it says.
void keyvals() {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyval, nullptr);
  static int value = 5;
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &value);
  agree();
  require(copies == 0, "an attribute was copied");
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  agree(comm);
  void* found = nullptr;
  int is_set = 0;
  MPI_Comm_get_attr(comm, keyval, &found, &is_set);
  require(copies == 1 && is_set != 0 && found == &value, "the attribute of a duplicate");
  MPI_Comm_free(&comm);
  require(deletions == 1, "the attribute of the duplicate is deleted");
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  MPI_Comm_free_keyval(&keyval);
}

/// A non-blocking call returns before another rank has come, and a request is completed by each function.
void requests() {
  const int rank = world_rank();
  const int ranks = size_of(MPI_COMM_WORLD);
  std::vector<std::unique_ptr<Vector>> inputs;
  std::vector<std::unique_ptr<Vector>> outputs;
  std::vector<MPI_Request> all(6, MPI_REQUEST_NULL);
  for (int number = 0; number < 6; ++number) {
    inputs.push_back(std::make_unique<Vector>(many));
    outputs.push_back(std::make_unique<Vector>(many));
    inputs.back()->fill(number);
  }
  for (int round = 0; round < 3; ++round) {
    if (round == 1) agree();  // before, MPI makes the calls
    const auto start = [&](int number) {
      MPI_Iallreduce(inputs[number]->data(), outputs[number]->data(), many, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                     &all[number]);
    };
    if (rank > 0) MPI_Recv(nullptr, 0, MPI_INT, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    start(0);
    int is_done = 0;
    MPI_Test(&all[0], &is_done, MPI_STATUS_IGNORE);  // which waits for nobody either
    require(is_done == 0 || rank + 1 == ranks, "a sum without the other ranks");
    if (rank + 1 < ranks) MPI_Send(nullptr, 0, MPI_INT, rank + 1, 3, MPI_COMM_WORLD);
    for (int number = 1; number < 6; ++number) start(number);
    MPI_Status status;
    MPI_Wait(&all[0], &status);
    require(all[0] == MPI_REQUEST_NULL && outputs[0]->has(0), "MPI_Wait");
    int flag = 0;
    while (flag == 0) MPI_Test(&all[1], &flag, MPI_STATUS_IGNORE);
    require(all[1] == MPI_REQUEST_NULL && outputs[1]->has(ranks), "MPI_Test");
    int index = -1;
    MPI_Waitany(2, &all[1], &index, MPI_STATUS_IGNORE);
    require(index == 1 && outputs[2]->has(2 * ranks), "MPI_Waitany");
    int indices[3];
    int count = 0;
    for (int done = 0; done < 1; done += count) MPI_Waitsome(1, &all[3], &count, indices, MPI_STATUSES_IGNORE);
    require(outputs[3]->has(3 * ranks), "MPI_Waitsome");
    MPI_Waitall(6, all.data(), MPI_STATUSES_IGNORE);
    require(outputs[4]->has(4 * ranks) && outputs[5]->has(5 * ranks), "MPI_Waitall");
    for (const MPI_Request request : all) require(request == MPI_REQUEST_NULL, "a request is left");
    MPI_Waitany(6, all.data(), &index, MPI_STATUS_IGNORE);
    require(index == MPI_UNDEFINED, "MPI_Waitany of nothing");
  }
  // Together with another request.
  MPI_Request pair[2];
  int token = rank;
  int received = -1;
  MPI_Irecv(&received, 1, MPI_INT, (rank + 1) % ranks, 4, MPI_COMM_WORLD, &pair[0]);
  MPI_Iallreduce(inputs[1]->data(), outputs[1]->data(), many, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &pair[1]);
  MPI_Send(&token, 1, MPI_INT, (rank + ranks - 1) % ranks, 4, MPI_COMM_WORLD);
  int flag = 0;
  while (flag == 0) MPI_Testall(2, pair, &flag, MPI_STATUSES_IGNORE);
  require(received == (rank + 1) % ranks && outputs[1]->has(ranks), "MPI_Testall");
}

/// What the legacy default stream has been given before is seen by the collective.
void default_stream() {
  agree();
  static Vector* input;
  input = new Vector(many);
  const Vector output(many);
  input->fill(0);
  MPI_Barrier(MPI_COMM_WORLD);
  fake_gpu_enqueue(
      nullptr,
      [](void*) {
        usleep(100'000);
        input->fill(2);
      },
      nullptr);
  reduce(*input, output);
  require(output.has(2 * size_of(MPI_COMM_WORLD)), "the default stream's work");
}

/// Errors of the program are MPI's, and are returned.
void errors() {
  agree();
#ifdef MPICH_VERSION
  return;  // Debian's does not check arguments
#endif
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const Vector data(many);
  const auto is_same = [](int found, int expected, const char* what) {
    int found_class = 0;
    int expected_class = 0;
    MPI_Error_class(found, &found_class);
    MPI_Error_class(expected, &expected_class);
    require(expected != MPI_SUCCESS && found_class == expected_class, what);
  };
  is_same(MPI_Allreduce(MPI_IN_PLACE, data.data(), -1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD),
          PMPI_Allreduce(MPI_IN_PLACE, data.data(), -1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), "a negative count");
  is_same(MPI_Allreduce(MPI_IN_PLACE, data.data(), many, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD),
          PMPI_Allreduce(MPI_IN_PLACE, data.data(), many, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD), "no type");
  is_same(MPI_Allreduce(MPI_IN_PLACE, data.data(), many, MPI_DOUBLE, MPI_OP_NULL, MPI_COMM_WORLD),
          PMPI_Allreduce(MPI_IN_PLACE, data.data(), many, MPI_DOUBLE, MPI_OP_NULL, MPI_COMM_WORLD), "no operation");
  is_same(MPI_Bcast(data.data(), many, MPI_DOUBLE, 1000, MPI_COMM_WORLD),
          PMPI_Bcast(data.data(), many, MPI_DOUBLE, 1000, MPI_COMM_WORLD), "a wrong root");
  is_same(MPI_Bcast(data.data(), many, MPI_DOUBLE, -1, MPI_COMM_WORLD),
          PMPI_Bcast(data.data(), many, MPI_DOUBLE, -1, MPI_COMM_WORLD), "a negative root");
  agree();
}

/// NCCL fails after it has been initialized: all ranks get an error, and none hangs.
void failing() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const Vector input(many);
  const Vector output(many);
  require(reduce(input, output) == MPI_SUCCESS, "MPI's own call");
  for (int call = 0; call < 2; ++call) require(reduce(input, output) == MPI_ERR_OTHER, "a failed call");
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  require(
      MPI_Iallreduce(input.data(), output.data(), many, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request) == MPI_SUCCESS,
      "a non-blocking call starts");
  require(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS, "its error is the request's");
}

/// Messages, also shorter ones than there is room for, and from any source.
void messages() {
  const int rank = world_rank();
  const int last = size_of(MPI_COMM_WORLD) - 1;
  const Vector data(many);
  for (int call = 0; call < 3; ++call) {
    data.fill(rank == 0 ? call + 1 : -1);
    if (rank == 0) MPI_Send(data.data(), many - 1, MPI_DOUBLE, last, 7, MPI_COMM_WORLD);
    if (rank != last) continue;
    MPI_Status status;
    MPI_Recv(data.data(), many, MPI_DOUBLE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
    int count = 0;
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    require(status.MPI_SOURCE == 0 && count == many - 1, "the status");
    require(data.data()[0] == call + 1 && data.data()[many - 2] == call + 1, "the message");
    require(data.data()[many - 1] == -1, "what the message does not have");
  }
  MPI_Send(nullptr, 0, MPI_DOUBLE, MPI_PROC_NULL, 7, MPI_COMM_WORLD);
}

void own_sum(void* input, void* output, int* count, MPI_Datatype*) {
  for (int index = 0; index < *count; ++index)
    static_cast<double*>(output)[index] += static_cast<double*>(input)[index];
}

/// What is never rerouted.
void never() {
  const Vector input(many);
  const Vector output(many);
  input.fill(1);
  MPI_Op own;
  MPI_Op_create(own_sum, 1, &own);
  struct Located {
    double value;
    int place;
  };
  for (int call = 0; call < 3; ++call) {
    MPI_Allreduce(input.data(), output.data(), many, MPI_DOUBLE, own, MPI_COMM_WORLD);
    require(output.has(size_of(MPI_COMM_WORLD)), "an operation of the program's");
    MPI_Allreduce(input.data(), output.data(), 100, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
  }
  MPI_Op_free(&own);
  if (size_of(MPI_COMM_WORLD) < 2) return;
  MPI_Comm half;
  MPI_Comm inter;
  const bool is_low = world_rank() == 0;
  MPI_Comm_split(MPI_COMM_WORLD, is_low ? 0 : 1, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_low ? 1 : 0, 1, &inter);
  for (int call = 0; call < 3; ++call) {
    reduce(input, output, inter);
    require(output.has(is_low ? size_of(MPI_COMM_WORLD) - 1 : 1), "a sum over an intercommunicator");
    const int root = is_low ? MPI_ROOT : 0;
    MPI_Bcast(input.data(), many, MPI_DOUBLE, root, inter);
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

/// Ranks decide by what the others have too: here it is one more rank, and another call, each time.
void mixed() {
  for (int host_rank = 0; host_rank < size_of(MPI_COMM_WORLD); ++host_rank) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const Vector input(many, world_rank() == host_rank ? Memory::host : Memory::device);
    const Vector output(many, world_rank() == host_rank ? Memory::managed : Memory::device);
    input.fill(1);
    for (int call = 0; call < 3; ++call) {
      reduce(input, output, comm);
      require(output.has(size_of(comm)), "a sum where rank " + std::to_string(host_rank) + " is on the host");
    }
    MPI_Comm_free(&comm);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  int level = 0;
  MPI_Init_thread(&argc, &argv, name == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  fake_gpu_use(world_rank());
  if (name == "progress") progress();
  if (name == "threads" && level == MPI_THREAD_MULTIPLE) threads();
  if (name == "growth") growth();
  if (name == "keyvals") keyvals();
  if (name == "requests") requests();
  if (name == "default-stream") default_stream();
  if (name == "errors") errors();
  if (name == "failing") failing();
  if (name == "messages") messages();
  if (name == "never") never();
  if (name == "mixed") mixed();
  if (name == "plain") agree();
  if (name == "unfinalized") {
    agree();
    std::puts("good");
    std::exit(5);
  }
  MPI_Finalize();
  std::fputs("good\n", stdout);  // in one piece: ranks of MPICH do not buffer what they write
  return 0;
}

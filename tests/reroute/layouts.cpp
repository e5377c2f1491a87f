// Data that is not one block of memory: types in another order or with gaps, and blocks between which something else
// is written during the call.
//   layouts permuted|permuted-later|overlapping|between-blocks|between-elements
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "conformance.hpp"

extern "C" int cuStreamCreate(void** stream, unsigned flags);

namespace {

constexpr int side = 24;

double* on_gpu(int count, double value) {
  void* memory = nullptr;
  cuMemAlloc_v2(&memory, static_cast<std::size_t>(count) * sizeof(double));
  auto* numbers = static_cast<double*>(memory);
  std::fill(numbers, numbers + count, value);
  return numbers;
}

MPI_Datatype column_of_matrix() {
  MPI_Datatype column;
  MPI_Type_vector(side, 1, side, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  return column;
}

/// Rank 0 sends a matrix, which the others receive transposed, by a type with the matrix' size and extent; before, they
/// do so as it is.
void permuted(int calls_before) {
  MPI_Datatype transposed;
  MPI_Type_create_hvector(side, 1, sizeof(double), column_of_matrix(), &transposed);
  MPI_Type_commit(&transposed);
  double* matrix = on_gpu(side * side, -1);
  for (int call = 0; call < calls_before; ++call) MPI_Bcast(matrix, side * side, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int call = 0; call < 3; ++call) {
    for (int index = 0; index < side * side; ++index) matrix[index] = world_rank() == 0 ? index : -1;
    if (world_rank() == 0) {
      MPI_Bcast(matrix, side * side, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      continue;
    }
    MPI_Bcast(matrix, 1, transposed, 0, MPI_COMM_WORLD);
    require(matrix[1] == side && matrix[side] == 1, "the transposed matrix of call " + std::to_string(call));
  }
}

/// Rank 0 sends one number twice and leaves out another: the type's size is its extent.
void overlapping() {
  const int places[] = {0, 0, 2};
  MPI_Datatype twice;
  MPI_Type_create_indexed_block(3, 1, places, MPI_DOUBLE, &twice);
  MPI_Type_commit(&twice);
  double* numbers = on_gpu(3, 0);
  for (int call = 0; call < 3; ++call) {
    for (int index = 0; index < 3; ++index) numbers[index] = world_rank() == 0 ? index + 1 : -1;
    if (world_rank() == 0) {
      MPI_Bcast(numbers, 1, twice, 0, MPI_COMM_WORLD);
    } else {
      MPI_Bcast(numbers, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      require(numbers[0] == 1 && numbers[1] == 1 && numbers[2] == 3, "the numbers of call " + std::to_string(call));
    }
  }
}

/// Two calls at once receive into the same array, in turn.
void between_blocks() {
  constexpr int count = 100;
  const int ranks = size_of(MPI_COMM_WORLD);
  double* sent[] = {on_gpu(count, 100 + world_rank()), on_gpu(count, 200 + world_rank())};
  double* received = on_gpu(2 * ranks * count, -1);
  const std::vector<int> counts(static_cast<std::size_t>(ranks), count);
  for (int call = 0; call < 3; ++call) {
    std::fill(received, received + 2 * ranks * count, -1.0);
    std::vector<int> places[2];
    MPI_Request requests[2];
    for (int number = 0; number < 2; ++number) {
      for (int rank = 0; rank < ranks; ++rank) places[number].push_back((2 * rank + number) * count);
      MPI_Iallgatherv(sent[number], count, MPI_DOUBLE, received, counts.data(), places[number].data(), MPI_DOUBLE,
                      MPI_COMM_WORLD, &requests[number]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int block = 0; block < 2 * ranks; ++block) {
      require(received[block * count] == 100 * (1 + block % 2) + block / 2, "block " + std::to_string(block));
    }
    if (call == 0) {  // NCCL makes non-blocking calls after blocking ones
      for (int again = 0; again < 2; ++again) {
        MPI_Allgatherv(sent[0], count, MPI_DOUBLE, received, counts.data(), places[0].data(), MPI_DOUBLE,
                       MPI_COMM_WORLD);
      }
    }
  }
}

double* halo_matrix;
void write_interior(void*) {
  usleep(100'000);
  for (int index = 0; index < side * side; ++index) {
    if (index % side != 0) halo_matrix[index] = 7;
  }
}

/// A column is received while a kernel writes the others.
void between_elements() {
  const MPI_Datatype column = column_of_matrix();
  halo_matrix = on_gpu(side * side, 1);
  void* stream = nullptr;
  cuStreamCreate(&stream, 1);
  for (int call = 0; call < 3; ++call) {
    std::fill(halo_matrix, halo_matrix + side * side, world_rank() == 0 ? -1 : 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) {
      fake_gpu_enqueue(stream, write_interior, nullptr);
      MPI_Recv(halo_matrix, 1, column, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      cuStreamSynchronize(stream);
      require(halo_matrix[side] == 1, "the column of call " + std::to_string(call));
      require(halo_matrix[side + 1] == 7, "the interior of call " + std::to_string(call));
    } else if (world_rank() == 1) {
      usleep(200'000);
      MPI_Send(halo_matrix, 1, column, 0, 0, MPI_COMM_WORLD);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fake_gpu_use(world_rank());
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "permuted") permuted(0);
  if (name == "permuted-later") permuted(2);
  if (name == "overlapping") overlapping();
  if (name == "between-blocks") between_blocks();
  if (name == "between-elements") between_elements();
  MPI_Finalize();
  std::puts("good");
  return 0;
}

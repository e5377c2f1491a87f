// sums CALLS ELEMENTS MEMORY: sums an array over the ranks so many times. Each rank has a fake GPU of its own; MEMORY is
// device or host. The exit status is 7, to be seen behind a launcher, or 1 where a sum is wrong.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_gpu.h"

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  fake_gpu_use(rank);
  const int calls = atoi(words[1]);
  const int elements = atoi(words[2]);
  const size_t bytes = (size_t)elements * sizeof(double);
  void* memory = NULL;
  if (strcmp(words[3], "device") == 0) {
    cuMemAlloc_v2(&memory, 2 * bytes);
  } else {
    memory = malloc(2 * bytes);
  }
  double* input = memory;  // the fake's device memory can be read
  double* output = input + elements;
  for (int call = 0; call < calls; ++call) {
    for (int element = 0; element < elements; ++element) input[element] = element % 10 + call;
    MPI_Allreduce(input, output, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int element = 0; element < elements; ++element) {
      if (output[element] != ranks * input[element]) MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  if (rank == 0) printf("all sums are right\n");
  MPI_Finalize();
  return 7;
}

// sums CALLS ELEMENTS MEMORY: sums an array over the ranks so many times. Each rank has a fake GPU of its own; MEMORY
// is device or host. The exit status is 7, to be seen behind a launcher, or 1 where a sum is wrong.
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fake_gpu.h"

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  fake_gpu_use(rank);
  const int calls = std::atoi(words[1]);
  const int elements = std::atoi(words[2]);
  const std::size_t bytes = 2 * sizeof(double) * static_cast<std::size_t>(elements);
  std::vector<double> on_host(2 * static_cast<std::size_t>(elements));
  void* memory = on_host.data();
  if (std::string(words[3]) == "device") cuMemAlloc_v2(&memory, bytes);
  auto* input = static_cast<double*>(memory);  // the fake's device memory can be read
  double* output = input + elements;
  for (int call = 0; call < calls; ++call) {
    for (int element = 0; element < elements; ++element) input[element] = element % 10 + call;
    MPI_Allreduce(input, output, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int element = 0; element < elements; ++element) {
      if (output[element] != ranks * input[element]) MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  if (rank == 0) std::printf("all sums are right\n");
  MPI_Finalize();
  return 7;
}

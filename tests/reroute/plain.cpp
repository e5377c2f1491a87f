// A program that has nothing to do with GPUs.
#include <mpi.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::vector<double> values(100'000, 1.0);
  std::vector<double> sums(values.size());
  for (int call = 0; call < 3; ++call) {
    MPI_Allreduce(values.data(), sums.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  std::printf("%g\n", sums.back());
  MPI_Finalize();
  return 0;
}

// Many calls that commlens reroute passes on, to measure what it adds to each (reroute.py).
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const long calls = argc > 1 ? atol(argv[1]) : 10000000;
  MPI_Init(&argc, &argv);
  static char data[1 << 17];
  const int sizes[] = {8, sizeof data};
  const char* names[] = {"below_min_bytes", "host_memory"};
  for (int size = 0; size < 2; ++size) {
    const double start = MPI_Wtime();
    for (long call = 0; call < calls; ++call) MPI_Bcast(data, sizes[size], MPI_BYTE, 0, MPI_COMM_SELF);
    printf("%s %.3e\n", names[size], (MPI_Wtime() - start) / (double)calls);
  }
  MPI_Finalize();
  return 0;
}

// Many small calls, to measure the overhead of `commlens profile` per call (profile.py).
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double seconds_per_call(double start, long calls) {
  return (MPI_Wtime() - start) / (double)calls;
}

int main(int argc, char** argv) {
  const long calls = argc > 1 ? atol(argv[1]) : 10000000;
  MPI_Init(&argc, &argv);
  int size = 0;
  double start = MPI_Wtime();
  for (long call = 0; call < calls; ++call) MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("MPI_Comm_size %.3e\n", seconds_per_call(start, calls));
  char byte = 0;
  char received = 0;
  start = MPI_Wtime();
  for (long call = 0; call < calls; ++call) {
    MPI_Send(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  }
  printf("MPI_Send %.3e\n", seconds_per_call(start, calls));
  MPI_Comm own;  // its ranks are translated to those of the world
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  int rank = 0;
  MPI_Comm_rank(own, &rank);
  start = MPI_Wtime();
  for (long call = 0; call < calls; ++call) {
    MPI_Request request;
    MPI_Irecv(&received, 1, MPI_BYTE, rank, 0, own, &request);
    MPI_Send(&byte, 1, MPI_BYTE, rank, 0, own);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  printf("to_itself %.3e\n", seconds_per_call(start, 3 * calls));
  MPI_Comm_free(&own);
  MPI_Finalize();
  return 0;
}

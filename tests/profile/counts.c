// Known numbers of calls and bytes. Each rank sends 3 messages of 100 ints to its right neighbor.
#include <mpi.h>
#include <stdlib.h>

#include "place.h"

static void collectives(int ranks, double* out, double* in) {
  for (int i = 0; i < 5; ++i) MPI_Allreduce(out, in, 16, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, in, 16, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Alltoall(out, 2, MPI_DOUBLE, in, 2, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, in, 2, MPI_DOUBLE, MPI_COMM_WORLD);
  int* counts = malloc(2 * (size_t)ranks * sizeof(int));
  for (int rank = 0; rank < ranks; ++rank) {
    counts[rank] = 3;
    counts[ranks + rank] = 3 * rank;
  }
  MPI_Alltoallv(out, counts, counts + ranks, MPI_DOUBLE, in, counts, counts + ranks, MPI_DOUBLE, MPI_COMM_WORLD);
  free(counts);
  MPI_Bcast(in, 7, MPI_CHAR, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const struct Place place = place_in_world();
  const int rank = place.rank;
  const int ranks = place.ranks;
  int data[200] = {0};
  const int right = (rank + 1) % ranks;
  const int left = (rank + ranks - 1) % ranks;
  for (int i = 0; i < 3; ++i) {
    MPI_Request request;
    MPI_Irecv(data + 100, 100, MPI_INT, left, 0, MPI_COMM_WORLD, &request);
    MPI_Send(data, 100, MPI_INT, right, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Send(data, 100, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  double* out = calloc(16 + 8 * (size_t)ranks, sizeof(double));
  double* in = calloc(16 + 8 * (size_t)ranks, sizeof(double));
  collectives(ranks, out, in);
  MPI_Comm reversed;  // rank 0 is the last rank of the world
  MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &reversed);
  if (rank == ranks - 1) MPI_Send(data, 1, MPI_INT, ranks - 1, 1, reversed);
  if (rank == 0) MPI_Recv(data, 1, MPI_INT, 0, 1, reversed, MPI_STATUS_IGNORE);
  MPI_Comm_free(&reversed);
  free(in);
  free(out);
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}

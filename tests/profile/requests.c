// Persistent requests, which send at each start, and calls with arguments that must not be read.
#include <mpi.h>
#include <stddef.h>

#include "place.h"

enum { starts = 3 };

static void send_persistently(int right, int left) {
  int data[200] = {0};
  MPI_Request requests[2];
  MPI_Recv_init(data + 100, 100, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(data, 100, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < starts; ++i) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Start(&requests[0]);
  MPI_Start(&requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

/// Over an inter-communicator: rank 0 is one group and the root, the others are the other group.
static void gather_from_the_others(int rank) {
  MPI_Comm group;
  MPI_Comm both;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &group);
  MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 0, &both);
  int values[8] = {0};
  if (rank == 0) {
    MPI_Gather(NULL, 1, MPI_DATATYPE_NULL, values, 1, MPI_INT, MPI_ROOT, both);
    MPI_Bcast(values, 4, MPI_INT, MPI_ROOT, both);
  } else {
    MPI_Gather(values, 1, MPI_INT, NULL, 1, MPI_DATATYPE_NULL, 0, both);
    MPI_Bcast(values, 4, MPI_INT, 0, both);
  }
  MPI_Comm_free(&both);
  MPI_Comm_free(&group);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const struct Place place = place_in_world();
  const int rank = place.rank;
  send_persistently((rank + 1) % place.ranks, (rank + place.ranks - 1) % place.ranks);
  gather_from_the_others(rank);
  const int zeros[16] = {0};
  int none[2] = {0};
  MPI_Alltoallv(&none[0], zeros, zeros, MPI_INT, &none[1], zeros, zeros, MPI_INT, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

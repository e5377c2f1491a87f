// A rank of MPI_COMM_WORLD and the number of its ranks.
#pragma once

#include <mpi.h>

struct Place {
  int rank;
  int ranks;
};

static struct Place place_in_world(void) {
  struct Place place = {0, 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place.ranks);
  return place;
}

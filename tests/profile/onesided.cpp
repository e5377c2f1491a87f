// One-sided communication, neighborhood collectives and a communicator other than the world, in
// C++.
#include <mpi.h>

#include <vector>

#include "place.h"

namespace ring {

template <class Value>
void put(const std::vector<Value>& values, int target, MPI_Win window) {
  MPI_Put(values.data(), 10, MPI_DOUBLE, target, 0, 10, MPI_DOUBLE, window);
}

}  // namespace ring

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  auto [rank, ranks] = place_in_world();
  std::vector<double> data(64, rank);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(data.data(), 64 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  const std::vector<double> out(10, 1.0);
  ring::put(out, (rank + 1) % ranks, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);

  MPI_Comm ring = MPI_COMM_NULL;
  const int is_periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &is_periodic, 0, &ring);
  std::vector<int> in(2);
  MPI_Neighbor_alltoall(&rank, 0, MPI_INT, in.data(), 0, MPI_INT, ring);
  const std::vector<int> both(2, rank);
  MPI_Neighbor_alltoall(both.data(), 1, MPI_INT, in.data(), 1, MPI_INT, ring);
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return 0;
}

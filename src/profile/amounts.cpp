#include "amounts.hpp"

namespace commlens::profile::amount {

int out_degree(MPI_Comm communicator) {
  int topology = MPI_UNDEFINED;
  int count = 0;
  const MpiLibrary& library = profile.library;
  library.topo_test(communicator, &topology);
  if (topology == MPI_CART) {
    library.cartdim_get(communicator, &count);
    count *= 2;
  } else if (topology == MPI_GRAPH) {
    int rank = 0;
    library.comm_rank(communicator, &rank);
    library.graph_neighbors_count(communicator, rank, &count);
  } else if (topology == MPI_DIST_GRAPH) {
    int in_degree = 0;
    int is_weighted = 0;
    library.dist_graph_neighbors_count(communicator, &in_degree, &count, &is_weighted);
  }
  return count;
}

}  // namespace commlens::profile::amount

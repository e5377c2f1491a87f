#include "mpi_library.hpp"

#include <dlfcn.h>

namespace commlens::profile {

using preload::find_into;

void MpiLibrary::find() {
  find_into(type_size, "PMPI_Type_size_x");
  find_into(comm_size, "PMPI_Comm_size");
  find_into(comm_rank, "PMPI_Comm_rank");
  find_into(comm_remote_size, "PMPI_Comm_remote_size");
  find_into(comm_test_inter, "PMPI_Comm_test_inter");
  find_into(comm_group, "PMPI_Comm_group");
  find_into(comm_remote_group, "PMPI_Comm_remote_group");
  find_into(win_get_group, "PMPI_Win_get_group");
  find_into(group_size, "PMPI_Group_size");
  find_into(group_free, "PMPI_Group_free");
  find_into(group_translate_ranks, "PMPI_Group_translate_ranks");
  find_into(topo_test, "PMPI_Topo_test");
  find_into(cartdim_get, "PMPI_Cartdim_get");
  find_into(graph_neighbors_count, "PMPI_Graph_neighbors_count");
  find_into(dist_graph_neighbors_count, "PMPI_Dist_graph_neighbors_count");
  find_into(barrier, "PMPI_Barrier");
  find_into(probe, "PMPI_Probe");
  find_into(initialized, "PMPI_Initialized");
  find_into(query_thread, "PMPI_Query_thread");
  find_into(type_get_envelope, "PMPI_Type_get_envelope");
  find_into(type_get_extent, "PMPI_Type_get_extent");
  find_into(type_get_true_extent, "PMPI_Type_get_true_extent");
  find_into(type_get_contents, "PMPI_Type_get_contents");
  find_into(type_free, "PMPI_Type_free");
  find_into(type_get_name, "PMPI_Type_get_name");
#if defined(OPEN_MPI)
  find_into(communicator_from_fortran, "PMPI_Comm_f2c");
  find_into(datatype_from_fortran, "PMPI_Type_f2c");
  find_into(window_from_fortran, "PMPI_Win_f2c");
  find_into(group_from_fortran, "PMPI_Group_f2c");
  find_into(operation_from_fortran, "PMPI_Op_f2c");
  auto* null = static_cast<MPI_Request>(variable("ompi_request_null"));
  MPI_Fint (*request_to_fortran)(MPI_Request) = nullptr;
  find_into(request_to_fortran, "PMPI_Request_c2f");
  null_request = key_of(null);
  if (null != nullptr) fortran_null_request = key_of(request_to_fortran(null));  // not another MPI's
#else
  null_request = fortran_null_request = key_of(MPI_REQUEST_NULL);
#endif
  // Of Open MPI; MPICH passes C's.
  fortran_in_place = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
  fortran_status_ignore = dlsym(RTLD_DEFAULT, "mpi_fortran_status_ignore_");
  fortran_statuses_ignore = dlsym(RTLD_DEFAULT, "mpi_fortran_statuses_ignore_");
}

}  // namespace commlens::profile

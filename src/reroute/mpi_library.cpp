#include "mpi_library.hpp"

#include <dlfcn.h>

#include "preload/mpi_symbols.hpp"

namespace commlens::reroute {

using preload::find_into;

void MpiLibrary::find() {
  find_into(type_size, "PMPI_Type_size_x");
  find_into(type_get_extent, "PMPI_Type_get_extent");
  find_into(type_get_true_extent, "PMPI_Type_get_true_extent");
  find_into(type_get_envelope, "PMPI_Type_get_envelope");
  find_into(type_get_contents, "PMPI_Type_get_contents");
  find_into(type_free, "PMPI_Type_free");
  find_into(pack, "PMPI_Pack");
  find_into(unpack, "PMPI_Unpack");
  find_into(comm_size, "PMPI_Comm_size");
  find_into(comm_rank, "PMPI_Comm_rank");
  find_into(comm_test_inter, "PMPI_Comm_test_inter");
  find_into(comm_group, "PMPI_Comm_group");
  find_into(comm_create, "PMPI_Comm_create");
  find_into(comm_compare, "PMPI_Comm_compare");
  find_into(comm_free, "PMPI_Comm_free");
  find_into(group_intersection, "PMPI_Group_intersection");
  find_into(group_size, "PMPI_Group_size");
  find_into(group_free, "PMPI_Group_free");
  find_into(comm_create_keyval, "PMPI_Comm_create_keyval");
  find_into(comm_get_attr, "PMPI_Comm_get_attr");
  find_into(comm_set_attr, "PMPI_Comm_set_attr");
  find_into(comm_set_errhandler, "PMPI_Comm_set_errhandler");
  find_into(comm_call_errhandler, "PMPI_Comm_call_errhandler");
  find_into(allreduce, "PMPI_Allreduce");
  find_into(allgather, "PMPI_Allgather");
  find_into(bcast, "PMPI_Bcast");
  find_into(ibarrier, "PMPI_Ibarrier");
  find_into(barrier, "PMPI_Barrier");
  find_into(isend, "PMPI_Isend");
  find_into(iprobe, "PMPI_Iprobe");
  find_into(test, "PMPI_Test");
  find_into(wait, "PMPI_Wait");
  find_into(request_free, "PMPI_Request_free");
  find_into(grequest_start, "PMPI_Grequest_start");
  find_into(grequest_complete, "PMPI_Grequest_complete");
  find_into(status_set_elements, "PMPI_Status_set_elements");
  find_into(status_set_cancelled, "PMPI_Status_set_cancelled");
  find_into(query_thread, "PMPI_Query_thread");
  find_into(abort, "PMPI_Abort");
  world = preload::world_communicator();
  null_communicator = preload::null_communicator();
#if defined(OPEN_MPI)
  find_into(communicator_from_fortran, "PMPI_Comm_f2c");
  find_into(datatype_from_fortran, "PMPI_Type_f2c");
  find_into(operation_from_fortran, "PMPI_Op_f2c");
  find_into(request_to_fortran, "PMPI_Request_c2f");
  find_into(status_to_fortran, "PMPI_Status_c2f");
  null_type = static_cast<MPI_Datatype>(preload::variable("ompi_mpi_datatype_null"));
  byte = static_cast<MPI_Datatype>(preload::variable("ompi_mpi_byte"));
  uint64 = static_cast<MPI_Datatype>(preload::variable("ompi_mpi_uint64_t"));
  bit_or = static_cast<MPI_Op>(preload::variable("ompi_mpi_op_bor"));
  errors_return = static_cast<MPI_Errhandler>(preload::variable("ompi_mpi_errors_return"));
#else
  null_type = MPI_DATATYPE_NULL;
  byte = MPI_BYTE;
  uint64 = MPI_UINT64_T;
  bit_or = MPI_BOR;
  errors_return = MPI_ERRORS_RETURN;
#endif
  // Of Open MPI; MPICH's Fortran library passes those of C.
  fortran_in_place = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
  fortran_bottom = dlsym(RTLD_DEFAULT, "mpi_fortran_bottom_");
  fortran_status_ignore = dlsym(RTLD_DEFAULT, "mpi_fortran_status_ignore_");
}

}  // namespace commlens::reroute

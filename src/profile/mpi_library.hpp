// The functions of MPI that the profiler itself calls.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "preload/mpi_symbols.hpp"

namespace commlens::profile {

using preload::find_next;
using preload::find_or_exit;
using preload::handle_of;
using preload::key_of;
using preload::null_communicator;
using preload::self_communicator;
using preload::variable;
using preload::world_communicator;

/// The functions that the profiler itself calls.
struct MpiLibrary {
  int (*type_size)(MPI_Datatype, MPI_Count*);
  int (*comm_size)(MPI_Comm, int*);
  int (*comm_rank)(MPI_Comm, int*);
  int (*comm_remote_size)(MPI_Comm, int*);
  int (*comm_test_inter)(MPI_Comm, int*);
  int (*comm_group)(MPI_Comm, MPI_Group*);
  int (*comm_remote_group)(MPI_Comm, MPI_Group*);
  int (*win_get_group)(MPI_Win, MPI_Group*);
  int (*group_size)(MPI_Group, int*);
  int (*group_free)(MPI_Group*);
  int (*group_translate_ranks)(MPI_Group, int, const int*, MPI_Group, int*);
  int (*topo_test)(MPI_Comm, int*);
  int (*cartdim_get)(MPI_Comm, int*);
  int (*graph_neighbors_count)(MPI_Comm, int, int*);
  int (*dist_graph_neighbors_count)(MPI_Comm, int*, int*, int*);
  int (*barrier)(MPI_Comm);
  int (*probe)(int, int, MPI_Comm, MPI_Status*);
  int (*initialized)(int*);
  int (*query_thread)(int*);
#if defined(OPEN_MPI)
  MPI_Comm (*communicator_from_fortran)(MPI_Fint);
  MPI_Datatype (*datatype_from_fortran)(MPI_Fint);
  MPI_Win (*window_from_fortran)(MPI_Fint);
  MPI_Group (*group_from_fortran)(MPI_Fint);
  MPI_Op (*operation_from_fortran)(MPI_Fint);
#endif
  int (*type_get_envelope)(MPI_Datatype, int*, int*, int*, int*);
  int (*type_get_extent)(MPI_Datatype, MPI_Aint*, MPI_Aint*);
  int (*type_get_true_extent)(MPI_Datatype, MPI_Aint*, MPI_Aint*);
  int (*type_get_contents)(MPI_Datatype, int, int, int, int*, MPI_Aint*, MPI_Datatype*);
  int (*type_free)(MPI_Datatype*);
  int (*type_get_name)(MPI_Datatype, char*, int*);
  const void* fortran_in_place;  // null: no Fortran
  const void* fortran_status_ignore;
  const void* fortran_statuses_ignore;
  std::uintptr_t null_request;  // MPI_REQUEST_NULL
  std::uintptr_t fortran_null_request;

  void find();
};

}  // namespace commlens::profile

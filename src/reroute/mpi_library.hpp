// The functions of MPI that the library itself calls.
#pragma once

#include <mpi.h>

namespace commlens::reroute {

struct MpiLibrary {
  int (*type_size)(MPI_Datatype, MPI_Count*);
  int (*type_get_extent)(MPI_Datatype, MPI_Aint*, MPI_Aint*);
  int (*type_get_true_extent)(MPI_Datatype, MPI_Aint*, MPI_Aint*);
  int (*type_get_envelope)(MPI_Datatype, int*, int*, int*, int*);
  int (*type_get_contents)(MPI_Datatype, int, int, int, int*, MPI_Aint*, MPI_Datatype*);
  int (*type_free)(MPI_Datatype*);
  int (*pack)(const void*, int, MPI_Datatype, void*, int, int*, MPI_Comm);
  int (*unpack)(const void*, int, int*, void*, int, MPI_Datatype, MPI_Comm);
  int (*comm_size)(MPI_Comm, int*);
  int (*comm_rank)(MPI_Comm, int*);
  int (*comm_test_inter)(MPI_Comm, int*);
  int (*comm_group)(MPI_Comm, MPI_Group*);
  int (*comm_create)(MPI_Comm, MPI_Group, MPI_Comm*);
  int (*comm_compare)(MPI_Comm, MPI_Comm, int*);
  int (*comm_free)(MPI_Comm*);
  int (*group_intersection)(MPI_Group, MPI_Group, MPI_Group*);
  int (*group_size)(MPI_Group, int*);
  int (*group_free)(MPI_Group*);
  int (*comm_create_keyval)(MPI_Comm_copy_attr_function*, MPI_Comm_delete_attr_function*, int*, void*);
  int (*comm_get_attr)(MPI_Comm, int, void*, int*);
  int (*comm_set_attr)(MPI_Comm, int, void*);
  int (*comm_set_errhandler)(MPI_Comm, MPI_Errhandler);
  int (*comm_call_errhandler)(MPI_Comm, int);
  int (*allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
  int (*allgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  int (*bcast)(void*, int, MPI_Datatype, int, MPI_Comm);
  int (*ibarrier)(MPI_Comm, MPI_Request*);
  int (*barrier)(MPI_Comm);
  int (*isend)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  int (*iprobe)(int, int, MPI_Comm, int*, MPI_Status*);
  int (*test)(MPI_Request*, int*, MPI_Status*);
  int (*wait)(MPI_Request*, MPI_Status*);
  int (*request_free)(MPI_Request*);
  int (*grequest_start)(MPI_Grequest_query_function*, MPI_Grequest_free_function*, MPI_Grequest_cancel_function*, void*,
                        MPI_Request*);
  int (*grequest_complete)(MPI_Request);
  int (*status_set_elements)(MPI_Status*, MPI_Datatype, int);
  int (*status_set_cancelled)(MPI_Status*, int);
  int (*query_thread)(int*);
  int (*abort)(MPI_Comm, int);
#if defined(OPEN_MPI)
  MPI_Comm (*communicator_from_fortran)(MPI_Fint);
  MPI_Datatype (*datatype_from_fortran)(MPI_Fint);
  MPI_Op (*operation_from_fortran)(MPI_Fint);
  MPI_Fint (*request_to_fortran)(MPI_Request);
  int (*status_to_fortran)(const MPI_Status*, MPI_Fint*);
#endif
  MPI_Comm world;
  MPI_Comm null_communicator;
  MPI_Datatype null_type;
  MPI_Datatype byte;
  MPI_Datatype uint64;
  MPI_Op bit_or;
  MPI_Errhandler errors_return;
  const void* fortran_in_place;  // null: no Fortran, or that of C
  const void* fortran_bottom;
  const void* fortran_status_ignore;

  void find();
};

inline bool is_in_place(const void* buffer) { return buffer == MPI_IN_PLACE; }

}  // namespace commlens::reroute

// Functions of the MPI library, found at run time: the preloaded library is not linked to MPI
// because it is loaded into every program that a rank starts.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <type_traits>

namespace commlens::profile {

#if defined(OPEN_MPI)
constexpr const char* built_for = "Open MPI";
#elif defined(MPICH_VERSION) || defined(MPICH) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
constexpr const char* built_for = "MPICH";
#else
#error "commlens profile supports Open MPI and the MPIs with MPICH's ABI"
#endif

/// The first of the names (a null-terminated list) that a library after this one defines, or null.
void* find_next(const char* const* names);
void* find_next(const char* name);

/// The same for a function that the program has called; the process exits if it does not exist.
void* find_or_exit(const char* const* names);

template <class Handle>
std::uintptr_t key_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uintptr_t>(handle);
  }
}

template <class Handle>
Handle handle_of(std::uintptr_t key) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(key);  // NOLINT(performance-no-int-to-ptr): from key_of
  } else {
    return static_cast<Handle>(key);
  }
}

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
  int (*get_library_version)(char*, int*);
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

/// MPI_COMM_WORLD, in Open MPI the address of a variable of the library.
MPI_Comm world_communicator();
MPI_Comm self_communicator();
MPI_Comm null_communicator();
/// The address of a variable of the MPI library; null: there is none.
void* variable(const char* name);

}  // namespace commlens::profile

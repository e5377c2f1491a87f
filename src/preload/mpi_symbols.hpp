// Symbols of the MPI library, found at run time: a preloaded library is not linked to MPI because it
// is loaded into every program that a rank starts.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <type_traits>

namespace commlens::preload {

#if defined(OPEN_MPI)
constexpr const char* built_for = "Open MPI";
#elif defined(MPICH_VERSION) || defined(MPICH) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
constexpr const char* built_for = "MPICH";
#else
#error "commlens supports Open MPI and the MPIs with MPICH's ABI"
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

template <class Result>
void find_into(Result& function, const char* name) {
  function = reinterpret_cast<Result>(find_next(name));
}

/// MPI_COMM_WORLD, in Open MPI the address of a variable of the library.
MPI_Comm world_communicator();
MPI_Comm self_communicator();
MPI_Comm null_communicator();
/// The address of a variable of the MPI library; null: there is none.
void* variable(const char* name);

}  // namespace commlens::preload

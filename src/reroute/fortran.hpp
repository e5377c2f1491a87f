// The arguments of a call from Fortran, of which all are addresses, as C has them.
#pragma once

#include <mpi.h>

#include "reroute.hpp"

namespace commlens::reroute {

inline MPI_Fint integer_at(const void* address) { return *static_cast<const MPI_Fint*>(address); }

#if defined(OPEN_MPI)
inline MPI_Datatype datatype_of(const void* handle) { return reroute.mpi.datatype_from_fortran(integer_at(handle)); }
inline MPI_Op operation_of(const void* handle) { return reroute.mpi.operation_from_fortran(integer_at(handle)); }
inline MPI_Comm communicator_of(const void* handle) {
  return reroute.mpi.communicator_from_fortran(integer_at(handle));
}
inline void give_request(void* request, MPI_Request in_c) {
  *static_cast<MPI_Fint*>(request) = reroute.mpi.request_to_fortran(in_c);
}
/// The program's status may be ignored: then so is that of C.
inline MPI_Status* status_of(const void* status, MPI_Status& in_c) {
  return status == reroute.mpi.fortran_status_ignore ? MPI_STATUS_IGNORE : &in_c;
}
inline void give_status(void* status, const MPI_Status& in_c) {
  if (status != reroute.mpi.fortran_status_ignore) {
    reroute.mpi.status_to_fortran(&in_c, static_cast<MPI_Fint*>(status));
  }
}

inline void* address_of(void* buffer) {
  if (buffer == reroute.mpi.fortran_in_place) return MPI_IN_PLACE;
  return buffer == reroute.mpi.fortran_bottom ? MPI_BOTTOM : buffer;
}
#endif

/// In mpi_f08 the argument may be absent.
inline void give_error(void* error, int value) {
  if (error != nullptr) *static_cast<MPI_Fint*>(error) = value;
}

inline const int* outcount_of(const void* outcount) { return static_cast<const int*>(outcount); }

}  // namespace commlens::reroute

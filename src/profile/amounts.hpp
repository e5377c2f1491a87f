// How many bytes a call sends: the values of bytes= in functions/. Arguments are values and arrays
// of handles in C, and addresses of integers in Fortran; the overloads here read both.
#pragma once

#include <cstdint>

#include "profile.hpp"

namespace commlens::profile {

inline MPI_Datatype datatype_of(MPI_Datatype datatype) { return datatype; }
inline MPI_Comm communicator_of(MPI_Comm communicator) { return communicator; }
inline MPI_Win window_of(MPI_Win window) { return window; }
inline MPI_Group group_of(MPI_Group group) { return group; }
inline std::uintptr_t operation_of(MPI_Op operation) { return key_of(operation); }
inline std::uintptr_t message_at(const MPI_Message* message) { return key_of(*message); }

/// The address of one or more Fortran integers that are handles.
struct FortranHandles {
  const void* address;
};
inline MPI_Fint first_of(FortranHandles handles) { return *static_cast<const MPI_Fint*>(handles.address); }
#if defined(OPEN_MPI)
inline MPI_Datatype datatype_of(MPI_Fint handle) { return profile.library.datatype_from_fortran(handle); }
inline MPI_Comm communicator_of(MPI_Fint handle) { return profile.library.communicator_from_fortran(handle); }
inline MPI_Win window_of(MPI_Fint handle) { return profile.library.window_from_fortran(handle); }
inline MPI_Group group_of(MPI_Fint handle) { return profile.library.group_from_fortran(handle); }
inline std::uintptr_t operation_of(MPI_Fint handle) { return key_of(profile.library.operation_from_fortran(handle)); }
#endif  // in other MPIs handles are integers in C too
inline MPI_Datatype datatype_of(FortranHandles handle) { return datatype_of(first_of(handle)); }
inline MPI_Comm communicator_of(FortranHandles handle) { return communicator_of(first_of(handle)); }
inline MPI_Win window_of(FortranHandles handle) { return window_of(first_of(handle)); }
inline MPI_Group group_of(FortranHandles handle) { return group_of(first_of(handle)); }
inline std::uintptr_t operation_of(FortranHandles handle) { return operation_of(first_of(handle)); }
inline std::uintptr_t message_at(FortranHandles handle) { return key_of(first_of(handle)); }

inline std::uintptr_t request_at(const MPI_Request* requests, int index) { return key_of(requests[index]); }
/// Not the key that the same request has in C: a request is started in the language that created
/// it.
inline std::uintptr_t request_at(FortranHandles handles, int index) {
  return key_of(static_cast<const MPI_Fint*>(handles.address)[index]);
}

inline std::uintptr_t null_request_of(const MPI_Request* /*requests*/) { return profile.library.null_request; }
inline std::uintptr_t null_request_of(FortranHandles /*requests*/) { return profile.library.fortran_null_request; }

/// Whether there is something to wait for.
template <class Handles, class Number>
bool is_any_active(Handles requests, Number count) {
  const std::uintptr_t null = null_request_of(requests);
  for (int index = 0; index < count; ++index) {
    if (request_at(requests, index) != null) return true;
  }
  return false;
}

/// Counts what started persistent requests send.
template <class Handles>
void count_starts(Call& call, Handles requests, int count) {
  std::uint64_t bytes = 0;
  for (int index = 0; index < count; ++index) {
    Message message{};
    if (!profile.requests.find(request_at(requests, index), message)) continue;
    call.count_bytes(message.bytes);
    Call::count_peer(message.peer, message.bytes);
    bytes += message.bytes;
  }
  if (Call::measures_waiting()) call.note_start(bytes);
}

inline MPI_Datatype datatype_at(const MPI_Datatype* datatypes, int index) { return datatypes[index]; }
inline MPI_Datatype datatype_at(FortranHandles handles, int index) {
  return datatype_of(static_cast<const MPI_Fint*>(handles.address)[index]);
}

namespace amount {

inline std::uint64_t size_of(MPI_Datatype datatype) {
  MPI_Count size = 0;
  return profile.library.type_size(datatype, &size) == MPI_SUCCESS && size > 0 ? static_cast<std::uint64_t>(size) : 0;
}

inline int size(MPI_Comm communicator) {
  int count = 0;
  profile.library.comm_size(communicator, &count);
  return count;
}

inline int peers(MPI_Comm communicator) {
  int is_inter = 0;
  profile.library.comm_test_inter(communicator, &is_inter);
  if (is_inter == 0) return size(communicator);
  int count = 0;
  profile.library.comm_remote_size(communicator, &count);
  return count;
}

/// The number of ranks to which a neighborhood collective sends, and from which it receives (MPI 3.1, section 7.6).
int out_degree(MPI_Comm communicator);
int in_degree(MPI_Comm communicator);

/// Of a Cartesian topology.
inline int dimensions(MPI_Comm communicator) {
  int count = 0;
  profile.library.cartdim_get(communicator, &count);
  return count;
}

template <class Number>
int last_of(const Number* numbers, int count) {
  return count > 0 ? static_cast<int>(numbers[count - 1]) : 0;
}

template <class Number>
int sum_of(const Number* numbers, int count) {
  int sum = 0;
  for (int index = 0; index < count; ++index) sum += static_cast<int>(numbers[index]);
  return sum;
}

/// Whether the caller is the root of a collective.
inline bool is_root(int root, MPI_Comm communicator) {
  int is_inter = 0;
  profile.library.comm_test_inter(communicator, &is_inter);
  if (is_inter != 0) return root == MPI_ROOT;
  int rank = 0;
  profile.library.comm_rank(communicator, &rank);
  return root == rank;
}

/// Whether it takes part with a buffer of a rank that is no root: not in the group of the root of an intercommunicator.
inline bool is_member(int root, MPI_Comm /*communicator*/) { return root != MPI_ROOT && root != MPI_PROC_NULL; }

template <class Number, class Type>
std::uint64_t one(Number count, Type datatype) {
  return count > 0 ? static_cast<std::uint64_t>(count) * size_of(datatype_of(datatype)) : 0;
}

template <class Number, class Type>
std::uint64_t each(Number count, Type datatype, int extent) {
  return one(count, datatype) * static_cast<std::uint64_t>(extent);
}

template <class Number, class Type>
std::uint64_t sum(const Number* counts, Type datatype, int extent) {
  std::uint64_t elements = 0;
  for (int index = 0; index < extent; ++index) elements += static_cast<std::uint64_t>(counts[index]);
  return one(elements, datatype);
}

template <class Number, class Types>
std::uint64_t sums(const Number* counts, Types datatypes, int extent) {
  std::uint64_t bytes = 0;
  for (int index = 0; index < extent; ++index) {
    if (counts[index] > 0) {
      bytes += static_cast<std::uint64_t>(counts[index]) * size_of(datatype_at(datatypes, index));
    }
  }
  return bytes;
}

template <class Number, class Type>
std::uint64_t own(const Number* counts, Type datatype, MPI_Comm communicator) {
  int rank = 0;
  profile.library.comm_rank(communicator, &rank);
  return one(counts[rank], datatype);
}

}  // namespace amount

/// Counts what an all-to-all sends to each rank.
template <class Share>
void count_each_peer(MPI_Comm communicator, Share share_of) {
  const int count = amount::peers(communicator);
  for (int index = 0; index < count; ++index) {
    const std::uint64_t bytes = share_of(index);
    if (bytes != 0) Call::count_peer(profile.peers.of(communicator, index), bytes);
  }
}

inline bool is_in_place(const void* buffer) {
  return buffer == MPI_IN_PLACE ||
         (profile.library.fortran_in_place != nullptr && buffer == profile.library.fortran_in_place);
}

inline bool succeeded(int result) { return result == MPI_SUCCESS; }
/// In Fortran; ierror may be absent in mpi_f08.
inline bool succeeded(const void* error) {
  return error == nullptr || *static_cast<const MPI_Fint*>(error) == MPI_SUCCESS;
}

}  // namespace commlens::profile

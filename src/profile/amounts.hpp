// How many bytes a call sends: what functions.txt names one, each, sum, sums and own. C hands over values and arrays of
// handles, Fortran pointers to integers, which become the same by value(), datatype_of() and communicator_of().
#pragma once

#include "profile.hpp"

namespace commlens::profile {

inline MPI_Datatype datatype_of(MPI_Datatype datatype) { return datatype; }
inline MPI_Comm communicator_of(MPI_Comm communicator) { return communicator; }
inline MPI_Win window_of(MPI_Win window) { return window; }

/// A Fortran integer, or an array of them, that stands for handles.
struct FortranHandles {
  const void* address;
};
inline MPI_Fint first_of(FortranHandles handles) { return *static_cast<const MPI_Fint*>(handles.address); }
#if defined(OPEN_MPI)
inline MPI_Datatype datatype_of(MPI_Fint handle) { return profile.library.datatype_from_fortran(handle); }
inline MPI_Comm communicator_of(MPI_Fint handle) { return profile.library.communicator_from_fortran(handle); }
inline MPI_Win window_of(MPI_Fint handle) { return profile.library.window_from_fortran(handle); }
#endif  // elsewhere handles are integers in C, too
inline MPI_Datatype datatype_of(FortranHandles handle) { return datatype_of(first_of(handle)); }
inline MPI_Comm communicator_of(FortranHandles handle) { return communicator_of(first_of(handle)); }
inline MPI_Win window_of(FortranHandles handle) { return window_of(first_of(handle)); }

inline std::uintptr_t request_at(const MPI_Request* requests, int index) { return key_of(requests[index]); }
/// Not the key that the same request has in C: who starts it is expected to have made it.
inline std::uintptr_t request_at(FortranHandles handles, int index) {
  return key_of(static_cast<const MPI_Fint*>(handles.address)[index]);
}

/// What the start of persistent requests sends.
template <class Handles>
void note_starts(Call& call, Handles requests, int count) {
  for (int index = 0; index < count; ++index) {
    Message message{};
    if (!profile.requests.find(request_at(requests, index), message)) continue;
    call.note_bytes(message.bytes);
    Call::note_peer(message.peer, message.bytes);
  }
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

/// To how many ranks a neighbourhood collective sends (MPI 3.1, section 7.6).
int out_degree(MPI_Comm communicator);

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

/// Of an all-to-all: what goes to each rank that gets any.
template <class Share>
void note_each_peer(MPI_Comm communicator, Share share_of) {
  const int count = amount::peers(communicator);
  for (int index = 0; index < count; ++index) {
    const std::uint64_t bytes = share_of(index);
    if (bytes != 0) Call::note_peer(profile.peers.of(communicator, index), bytes);
  }
}

inline bool is_in_place(const void* buffer) {
  return buffer == MPI_IN_PLACE ||
         (profile.library.fortran_in_place != nullptr && buffer == profile.library.fortran_in_place);
}

inline bool succeeded(int result) { return result == MPI_SUCCESS; }
/// Of a Fortran function, whose ierror may be absent in mpi_f08.
inline bool succeeded(const void* error) {
  return error == nullptr || *static_cast<const MPI_Fint*>(error) == MPI_SUCCESS;
}

}  // namespace commlens::profile

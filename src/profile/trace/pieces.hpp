// How many contiguous pieces an element of a datatype has.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace commlens::profile {

/// 0: it is not known.
std::int64_t pieces_of(MPI_Datatype type);

}  // namespace commlens::profile

#pragma once

#include <mpi.h>

namespace commlens {

/// Ends all ranks of the communicator with this status, after what this rank has written; also where MPI_Abort, called
/// while another thread is inside MPI, does not return.
[[noreturn]] void end_job(MPI_Comm communicator, int status);

}  // namespace commlens

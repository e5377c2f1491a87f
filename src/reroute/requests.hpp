// Requests of non-blocking functions that were rerouted: generalized requests, completed when the
// program looks at requests.
#pragma once

#include <mpi.h>

#include <atomic>

namespace commlens::reroute {

class Operation;

extern constinit std::atomic<int> open_requests;
/// Whether there are some that have not been completed.
inline bool has_requests() { return open_requests.load(std::memory_order_relaxed) > 0; }

/// Completes those whose operations have ended.
void progress_requests();

/// Makes the request of a started operation, which it then owns: another thread may end it at once. Returns MPI's
/// error.
int start_request(Operation* operation, MPI_Request* request);

}  // namespace commlens::reroute

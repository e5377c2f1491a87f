#include "requests.hpp"

#include <cstdlib>

#include "operation.hpp"
#include "reroute.hpp"

namespace commlens::reroute {

constinit std::atomic<int> open_requests = 0;

namespace {

std::atomic_flag list_lock = ATOMIC_FLAG_INIT;
Operation* first = nullptr;  // the oldest

int query(void* result, MPI_Status* status) {
  reroute.mpi.status_set_elements(status, reroute.mpi.byte, 0);
  reroute.mpi.status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return *static_cast<int*>(result);
}

int free_result(void* result) {
  std::free(result);
  return MPI_SUCCESS;
}

/// A collective cannot be cancelled.
int cancel(void* /*result*/, int /*is_complete*/) { return MPI_SUCCESS; }

}  // namespace

int start_request(Operation* operation, MPI_Request* request) {
  operation->result = static_cast<int*>(std::calloc(1, sizeof(int)));
  if (operation->result == nullptr) std::abort();
  const int error = reroute.mpi.grequest_start(query, free_result, cancel, operation->result, &operation->request);
  if (error != MPI_SUCCESS) return error;
  *request = operation->request;
  const ScopedLock lock(list_lock);
  Operation** end = &first;
  while (*end != nullptr) end = &(*end)->next;
  *end = operation;
  ++open_requests;
  return MPI_SUCCESS;
}

void progress_requests() {
  if (list_lock.test_and_set(std::memory_order_acquire)) return;  // another thread does it
  for (Operation** place = &first; *place != nullptr;) {
    Operation* operation = *place;
    if (!operation->is_done()) {
      place = &operation->next;
      continue;
    }
    *operation->result = operation->finish();
    *place = operation->next;
    reroute.mpi.grequest_complete(operation->request);
    std::free(operation);
    --open_requests;
  }
  list_lock.clear(std::memory_order_release);
}

}  // namespace commlens::reroute

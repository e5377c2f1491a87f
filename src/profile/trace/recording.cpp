#include "trace/recording.hpp"

namespace commlens::profile {

bool is_status(const void* status) {
  const MpiLibrary& library = profile.library;
  return status != nullptr && status != MPI_STATUS_IGNORE && status != MPI_STATUSES_IGNORE &&
         status != library.fortran_status_ignore && status != library.fortran_statuses_ignore;
}

void Recording::received(int source_field, int tag_field, const void* status) {
  if (event_.fields[source_field] != -2 && event_.fields[tag_field] != -1) return;
  if (!is_status(status)) return;
  const auto& known = *static_cast<const MPI_Status*>(status);
  event_.fields[source_field] = known.MPI_SOURCE;
  event_.fields[tag_field] = known.MPI_TAG;
}

bool Recording::is_any_waiting(int count) {
  const std::int64_t* slots = trace.slots.of(1);
  for (int index = 0; index < count; ++index) {
    if (slots[index] >= 0 && trace.requests.waiting_event(static_cast<int>(slots[index])) != 0) return true;
  }
  return false;
}

}  // namespace commlens::profile

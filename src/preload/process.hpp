// The process into which a preloaded library is loaded.
#pragma once

namespace commlens::preload {

/// Processes that the rank starts do not get the library, `address` being one within it.
void remove_from_ld_preload(const void* address);

bool is_set(const char* variable);

struct RunningMpi {
  char version[256];  // the first line of its version
  bool is_built_for;  // whether the library's MPI has the same ABI
};
RunningMpi running_mpi();

}  // namespace commlens::preload

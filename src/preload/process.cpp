#include "process.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi_symbols.hpp"

namespace commlens::preload {

void remove_from_ld_preload(const void* address) {
  Dl_info library{};
  const char* preloaded = std::getenv("LD_PRELOAD");
  if (preloaded == nullptr || dladdr(address, &library) == 0) return;
  const std::size_t length = std::strlen(library.dli_fname);
  if (std::strncmp(preloaded, library.dli_fname, length) != 0) return;
  if (preloaded[length] == '\0') {
    unsetenv("LD_PRELOAD");
  } else if (preloaded[length] == ':') {
    char others[4096];
    std::snprintf(others, sizeof others, "%s", preloaded + length + 1);
    setenv("LD_PRELOAD", others, 1);
  }
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

RunningMpi running_mpi() {
  char version[8192] = {};  // MPI_MAX_LIBRARY_VERSION_STRING of MPICH; Open MPI has 256
  int length = 0;
  int (*get_library_version)(char*, int*) = nullptr;
  find_into(get_library_version, "PMPI_Get_library_version");
  if (get_library_version != nullptr) get_library_version(version, &length);
  RunningMpi running{};
  std::snprintf(running.version, sizeof running.version, "%.200s", version);
  if (char* line_end = std::strchr(running.version, '\n')) *line_end = '\0';
  const bool is_open_mpi = std::strncmp(version, "Open MPI", 8) == 0;
  running.is_built_for = is_open_mpi == (std::strcmp(built_for, "Open MPI") == 0);
  return running;
}

}  // namespace commlens::preload

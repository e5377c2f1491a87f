#include "mpi_symbols.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace commlens::preload {
namespace {

/// The loaded files of MPI's libraries.
struct MpiFiles {
  static constexpr int max_count = 16;
  const char* names[max_count];
  int count;
};

int add_mpi_file(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& files = *static_cast<MpiFiles*>(data);
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* file = slash != nullptr ? slash + 1 : info->dlpi_name;
  if (std::strncmp(file, "libmpi", 6) == 0 && files.count < MpiFiles::max_count) {
    files.names[files.count++] = info->dlpi_name;
  }
  return 0;
}

/// Searches libraries that are loaded with RTLD_LOCAL, as Python loads MPI: RTLD_NEXT does not find
/// their symbols.
void* find_in_modules(const char* name) {
  MpiFiles files{};
  dl_iterate_phdr(add_mpi_file, &files);
  for (int index = 0; index < files.count; ++index) {
    void* module = dlopen(files.names[index], RTLD_LAZY | RTLD_NOLOAD);
    if (module == nullptr) continue;
    void* symbol = dlsym(module, name);
    dlclose(module);
    if (symbol != nullptr) return symbol;
  }
  return nullptr;
}

}  // namespace

void* variable(const char* name) {
  void* address = dlsym(RTLD_DEFAULT, name);
  return address != nullptr ? address : find_next(name);
}

void* find_next(const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  return symbol != nullptr ? symbol : find_in_modules(name);
}

void* find_next(const char* const* names) {
  for (; *names != nullptr; ++names) {
    if (void* symbol = find_next(*names)) return symbol;
  }
  return nullptr;
}

void* find_or_exit(const char* const* names) {
  if (void* symbol = find_next(names)) return symbol;
  const auto print = [](const char* text) { return write(STDERR_FILENO, text, std::strlen(text)); };
  const bool is_printed = print("commlens: the MPI library has no ") > 0 && print(*names) > 0 && print("\n") > 0;
  std::_Exit(is_printed ? 127 : 126);
}

#if defined(OPEN_MPI)
MPI_Comm world_communicator() { return static_cast<MPI_Comm>(variable("ompi_mpi_comm_world")); }
MPI_Comm self_communicator() { return static_cast<MPI_Comm>(variable("ompi_mpi_comm_self")); }
MPI_Comm null_communicator() { return static_cast<MPI_Comm>(variable("ompi_mpi_comm_null")); }
#else
MPI_Comm world_communicator() { return MPI_COMM_WORLD; }
MPI_Comm self_communicator() { return MPI_COMM_SELF; }
MPI_Comm null_communicator() { return MPI_COMM_NULL; }
#endif

}  // namespace commlens::preload

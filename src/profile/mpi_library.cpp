#include "mpi_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace commlens::profile {
namespace {

/// Files of MPI's libraries that are loaded.
struct MpiFiles {
  static constexpr int most = 16;
  const char* names[most];
  int count;
};

int note_mpi_file(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& files = *static_cast<MpiFiles*>(data);
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* file = slash != nullptr ? slash + 1 : info->dlpi_name;
  if (std::strncmp(file, "libmpi", 6) == 0 && files.count < MpiFiles::most) {
    files.names[files.count++] = info->dlpi_name;
  }
  return 0;
}

/// Asks libraries that were loaded for one module only, as Python loads MPI: such a one is not below this library.
void* find_in_modules(const char* name) {
  MpiFiles files{};
  dl_iterate_phdr(note_mpi_file, &files);
  for (int index = 0; index < files.count; ++index) {
    void* module = dlopen(files.names[index], RTLD_LAZY | RTLD_NOLOAD);
    if (module == nullptr) continue;
    void* found = dlsym(module, name);
    dlclose(module);
    if (found != nullptr) return found;
  }
  return nullptr;
}

template <class Result>
void find_into(Result& function, const char* name) {
  function = reinterpret_cast<Result>(find_below(name));
}

[[maybe_unused]] void* variable(const char* name) {
  void* address = dlsym(RTLD_DEFAULT, name);
  return address != nullptr ? address : find_below(name);
}

}  // namespace

void* find_below(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  return found != nullptr ? found : find_in_modules(name);
}

void* find_below(const char* const* names) {
  for (; *names != nullptr; ++names) {
    if (void* found = find_below(*names)) return found;
  }
  return nullptr;
}

void* find_or_abort(const char* const* names) {
  if (void* found = find_below(names)) return found;
  const auto say = [](const char* text) { return write(STDERR_FILENO, text, std::strlen(text)); };
  const bool said = say("commlens profile: the MPI library has no ") > 0 && say(*names) > 0 && say("\n") > 0;
  std::_Exit(said ? 127 : 126);
}

void MpiLibrary::find() {
  find_into(type_size, "PMPI_Type_size_x");
  find_into(comm_size, "PMPI_Comm_size");
  find_into(comm_rank, "PMPI_Comm_rank");
  find_into(comm_remote_size, "PMPI_Comm_remote_size");
  find_into(comm_test_inter, "PMPI_Comm_test_inter");
  find_into(comm_group, "PMPI_Comm_group");
  find_into(comm_remote_group, "PMPI_Comm_remote_group");
  find_into(win_get_group, "PMPI_Win_get_group");
  find_into(group_size, "PMPI_Group_size");
  find_into(group_free, "PMPI_Group_free");
  find_into(group_translate_ranks, "PMPI_Group_translate_ranks");
  find_into(topo_test, "PMPI_Topo_test");
  find_into(cartdim_get, "PMPI_Cartdim_get");
  find_into(graph_neighbors_count, "PMPI_Graph_neighbors_count");
  find_into(dist_graph_neighbors_count, "PMPI_Dist_graph_neighbors_count");
  find_into(barrier, "PMPI_Barrier");
  find_into(initialized, "PMPI_Initialized");
  find_into(query_thread, "PMPI_Query_thread");
  find_into(get_library_version, "PMPI_Get_library_version");
#if defined(OPEN_MPI)
  find_into(communicator_from_fortran, "PMPI_Comm_f2c");
  find_into(datatype_from_fortran, "PMPI_Type_f2c");
  find_into(window_from_fortran, "PMPI_Win_f2c");
#endif
  fortran_in_place = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");  // Open MPI; MPICH turns it into the one of C
}

MPI_Comm world_communicator() {
#if defined(OPEN_MPI)
  return static_cast<MPI_Comm>(variable("ompi_mpi_comm_world"));
#else
  return MPI_COMM_WORLD;
#endif
}

}  // namespace commlens::profile

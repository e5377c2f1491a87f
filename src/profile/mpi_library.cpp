#include "mpi_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace commlens::profile {
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

template <class Result>
void find_into(Result& function, const char* name) {
  function = reinterpret_cast<Result>(find_next(name));
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
  const bool is_printed =
      print("commlens profile: the MPI library has no ") > 0 && print(*names) > 0 && print("\n") > 0;
  std::_Exit(is_printed ? 127 : 126);
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
  find_into(probe, "PMPI_Probe");
  find_into(initialized, "PMPI_Initialized");
  find_into(query_thread, "PMPI_Query_thread");
  find_into(get_library_version, "PMPI_Get_library_version");
  find_into(type_get_envelope, "PMPI_Type_get_envelope");
  find_into(type_get_extent, "PMPI_Type_get_extent");
  find_into(type_get_true_extent, "PMPI_Type_get_true_extent");
  find_into(type_get_contents, "PMPI_Type_get_contents");
  find_into(type_free, "PMPI_Type_free");
  find_into(type_get_name, "PMPI_Type_get_name");
#if defined(OPEN_MPI)
  find_into(communicator_from_fortran, "PMPI_Comm_f2c");
  find_into(datatype_from_fortran, "PMPI_Type_f2c");
  find_into(window_from_fortran, "PMPI_Win_f2c");
  find_into(group_from_fortran, "PMPI_Group_f2c");
  find_into(operation_from_fortran, "PMPI_Op_f2c");
  auto* null = static_cast<MPI_Request>(variable("ompi_request_null"));
  MPI_Fint (*request_to_fortran)(MPI_Request) = nullptr;
  find_into(request_to_fortran, "PMPI_Request_c2f");
  null_request = key_of(null);
  if (null != nullptr) fortran_null_request = key_of(request_to_fortran(null));  // not another MPI's
#else
  null_request = fortran_null_request = key_of(MPI_REQUEST_NULL);
#endif
  // Of Open MPI; MPICH passes C's.
  fortran_in_place = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
  fortran_status_ignore = dlsym(RTLD_DEFAULT, "mpi_fortran_status_ignore_");
  fortran_statuses_ignore = dlsym(RTLD_DEFAULT, "mpi_fortran_statuses_ignore_");
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

}  // namespace commlens::profile

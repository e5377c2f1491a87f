#include "transport/mpi_library.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <regex>

namespace commlens::transport {

namespace {

struct Library {
  const char* name;
  const char* family;
  const char* pattern;  ///< whose first group is the version
};

/// In this order: those made of MPICH say so, too.
constexpr std::array libraries{
    Library{"Open MPI", "openmpi", R"(open mpi v?([\w.]+))"},
    Library{"Cray MPICH", "mpich", R"(cray mpich version ([\w.]+))"},
    Library{"MVAPICH", "mpich", R"(mvapich\S*\s+version\s*:\s*([\w.]+))"},
    Library{"MPICH", "mpich", R"(mpich\s+(?:version\s*:)?\s*v?(\d[\w.]*))"},
    Library{"Intel MPI", "intel", R"(intel\(r\) mpi library\s+([\w.]+))"},
    Library{"Spectrum MPI", "openmpi", R"(spectrum mpi v?([\w.]+))"},
    Library{"SMPI", "other", R"(smpi version ([\w.]+\w))"},
};

struct Match {
  const Library& library;
  std::string version;
};

std::optional<Match> find(const std::string& text) {
  for (const Library& library : libraries) {
    std::smatch match;
    if (std::regex_search(text, match, std::regex(library.pattern, std::regex::icase))) {
      return Match{library, match[1].str()};
    }
  }
  return std::nullopt;
}

/// Up to the first comma.
std::string beginning_of_first_line(const std::string& text) {
  constexpr std::size_t most = 40;
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "an unknown MPI";
  const auto end = text.find_first_of(",\r\n", begin);
  return text.substr(begin, end == std::string::npos ? end : end - begin).substr(0, most);
}

template <class Function>
Function* symbol(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

std::string mpi_library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  return text.data();
}

std::string mpi_library() { return mpi_library_in(mpi_library_version()); }
std::string mpi_family() { return mpi_family_in(mpi_library_version()); }
bool mpi_is_simulated() { return mpi_library_version().starts_with("SMPI "); }

std::string mpi_library_in(const std::string& text) {
  const auto match = find(text);
  return match ? std::string(match->library.name) + " " + match->version : beginning_of_first_line(text);
}

std::string mpi_family_in(const std::string& text) {
  const auto match = find(text);
  return match ? match->library.family : "other";
}

int native(ThreadLevel level) {
  return entry_of(std::array{MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE},
                  level);
}

ThreadLevel provided_thread_level() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  ThreadLevel highest = ThreadLevel::single;
  for (const ThreadLevel level : all_values<ThreadLevel>()) {
    if (native(level) <= provided) highest = level;
  }
  return highest;
}

GpuAwareness mpi_gpu_awareness(const std::string& backend) {
  // Cray MPICH: off unless the variable is 1, whatever the library could do.
  const char* cray = std::getenv("MPICH_GPU_SUPPORT_ENABLED");
  if (cray != nullptr && std::strcmp(cray, "1") != 0) return {false, "MPICH_GPU_SUPPORT_ENABLED=" + std::string(cray)};

  const bool hip = backend == "hip";
  // Open MPI: https://docs.open-mpi.org/en/main/tuning-apps/networking/cuda.html
  const char* open_mpi = hip ? "MPIX_Query_rocm_support" : "MPIX_Query_cuda_support";
  if (auto* query = symbol<int()>(open_mpi)) return {query() != 0, open_mpi};

  // MPICH 4: MPIX_GPU_SUPPORT_CUDA is 0, MPIX_GPU_SUPPORT_HIP is 2.
  if (auto* query = symbol<int(int, int*)>("MPIX_GPU_query_support")) {
    int supported = 0;
    if (query(hip ? 2 : 0, &supported) == MPI_SUCCESS) return {supported != 0, "MPIX_GPU_query_support"};
  }
  return {std::nullopt, "MPIX_Query_cuda_support, MPIX_GPU_query_support (the library has neither)"};
}

std::optional<std::string> ucx_version() {
  if (auto* query = symbol<const char*()>("ucp_get_version_string")) return query();
  // Open MPI loads its UCX component with local symbols.
  void* library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  auto* query = reinterpret_cast<const char* (*)()>(dlsym(library, "ucp_get_version_string"));
  std::optional<std::string> version;
  if (query != nullptr) version = query();
  dlclose(library);
  return version;
}

}  // namespace commlens::transport

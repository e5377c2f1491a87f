#include "transport/mpi_library.hpp"

#include <mpi.h>

#include <array>
#include <cstddef>
#include <optional>
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
};

struct Found {
  const Library& library;
  std::string version;
};

std::optional<Found> find(const std::string& text) {
  for (const Library& library : libraries) {
    std::smatch match;
    if (std::regex_search(text, match, std::regex(library.pattern, std::regex::icase))) {
      return Found{library, match[1].str()};
    }
  }
  return std::nullopt;
}

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  return text.data();
}

/// Up to the first comma.
std::string beginning_of_first_line(const std::string& text) {
  constexpr std::size_t most = 40;
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "an unknown MPI";
  const auto end = text.find_first_of(",\r\n", begin);
  return text.substr(begin, end == std::string::npos ? end : end - begin).substr(0, most);
}

}  // namespace

std::string mpi_library() { return mpi_library_in(library_version()); }
std::string mpi_family() { return mpi_family_in(library_version()); }

std::string mpi_library_in(const std::string& text) {
  const auto found = find(text);
  return found ? std::string(found->library.name) + " " + found->version : beginning_of_first_line(text);
}

std::string mpi_family_in(const std::string& text) {
  const auto found = find(text);
  return found ? found->library.family : "other";
}

}  // namespace commlens::transport

#include "harness/environment.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <string_view>

#include "base/environment_variables.hpp"
#include "device/device.hpp"
#include "harness/placement.hpp"
#include "transport/mpi_library.hpp"
#include "transport/transport.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared

namespace commlens {

namespace {

/// "MPI_THREAD_SINGLE"
std::string thread_level() {
  std::string level(name(transport::provided_thread_level()));
  std::transform(level.begin(), level.end(), level.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return "MPI_THREAD_" + level;
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("GNU {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

std::map<std::string, std::string> communication_environment() {
  std::map<std::string, std::string> chosen;
  environment::for_each_recorded(environ,
                                 [&](std::string_view name, std::string_view value) { chosen.emplace(name, value); });
  return chosen;
}

std::vector<std::string> transport_settings(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> names;
  for (const auto& [name, value] : environment) {
    if (environment::is_transport_setting(name)) names.push_back(name);
  }
  return names;
}

std::map<std::string, std::string> versions(bool uses_gpu) {
  int major = 0;
  int minor = 0;
  MPI_Get_version(&major, &minor);
  std::map<std::string, std::string> all{{"commlens", COMMLENS_VERSION},
                                         {"mpi", transport::mpi_library()},
                                         {"mpi_standard", fmt::format("{}.{}", major, minor)},
                                         {"mpi_thread_level", thread_level()},
                                         {"compiler", compiler()}};
  if (const auto ucx = transport::ucx_version()) all["ucx"] = *ucx;
  if (!uses_gpu) return all;
  for (const auto& [name, version] : device::gpu_versions()) all[name] = version;
  for (const auto& transport : transport::all()) {
    for (const auto& [name, version] : transport.versions()) all[name] = version;
  }
  return all;
}

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::time(nullptr))); }

std::string start_identifier() {
  return fmt::format("{:%Y%m%dT%H%M%SZ}-{}-{}", fmt::gmtime(std::time(nullptr)), host_name(), getpid());
}

}  // namespace commlens

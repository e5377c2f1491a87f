#include "harness/environment.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

#include "device/device.hpp"
#include "transport/gpu_aware.hpp"
#include "transport/transport.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared

namespace commlens {

namespace {

constexpr std::array<std::string_view, 19> prefixes{
    "UCX_",   "OMPI_MCA_", "PRTE_MCA_", "MPICH_",         "MPIR_CVAR_",
    "I_MPI_", "MV2_",      "MVP_",      "NCCL_",          "RCCL_",
    "FI_",    "HSA_",      "PSM2_",     "PSM3_",          "CUDA_VISIBLE_DEVICES",
    "ROCR_",  "HIP_",      "GDRCOPY_",  "OMP_NUM_THREADS"};
/// What Open MPI's launcher tells its processes this way: addresses and keys of this one job, not settings.
constexpr std::array<std::string_view, 6> internal{"OMPI_MCA_orte_",   "OMPI_MCA_ess",  "OMPI_MCA_initial_wdir",
                                                   "OMPI_MCA_shmem_R", "OMPI_MCA_pmix", "PRTE_MCA_ess"};

template <std::size_t n>
bool begins_with_any(std::string_view text, const std::array<std::string_view, n>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto beginning) { return text.starts_with(beginning); });
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
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || !begins_with_any(text, prefixes) || begins_with_any(text, internal))
      continue;
    chosen.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return chosen;
}

std::map<std::string, std::string> versions() {
  int major = 0;
  int minor = 0;
  MPI_Get_version(&major, &minor);
  std::map<std::string, std::string> all{{"commlens", COMMLENS_VERSION},
                                         {"mpi", transport::mpi_library()},
                                         {"mpi_standard", fmt::format("{}.{}", major, minor)},
                                         {"compiler", compiler()}};
  if (const auto ucx = transport::ucx_version()) all["ucx"] = *ucx;
  for (const auto& [name, version] : device::gpu_versions()) all[name] = version;
  for (const auto& kind : transport::kinds()) {
    for (const auto& [name, version] : kind.versions()) all[name] = version;
  }
  return all;
}

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::time(nullptr))); }

std::string run_identifier() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("{:%Y%m%dT%H%M%SZ}-{}-{}", fmt::gmtime(std::time(nullptr)), host.data(), getpid());
}

}  // namespace commlens

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
#include "transport/mpi_library.hpp"
#include "transport/transport.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared

namespace commlens {

namespace {

/// Variables that concern communication, by what they begin with.
struct Prefix {
  std::string_view text;
  bool is_setting;  ///< changes how bytes travel; otherwise it describes the job or the machine
};
constexpr std::array prefixes{
    Prefix{"UCX_", true},
    Prefix{"OMPI_MCA_pml", true},
    Prefix{"OMPI_MCA_btl", true},
    Prefix{"OMPI_MCA_mtl", true},
    Prefix{"OMPI_MCA_coll", true},
    Prefix{"OMPI_MCA_osc", true},
    Prefix{"OMPI_MCA_smsc", true},
    Prefix{"OMPI_MCA_accelerator", true},
    Prefix{"OMPI_MCA_opal_common_ucx", true},
    Prefix{"OMPI_MCA_opal_cuda", true},
    Prefix{"OMPI_MCA_", false},
    Prefix{"PRTE_MCA_", false},
    Prefix{"MPICH_", true},
    Prefix{"MPIR_CVAR_", true},
    Prefix{"I_MPI_", true},
    Prefix{"MV2_", true},
    Prefix{"MVP_", true},
    Prefix{"NCCL_", true},
    Prefix{"RCCL_", true},
    Prefix{"FI_", true},
    Prefix{"HSA_", true},
    Prefix{"PSM2_DEVICES", false},
    Prefix{"PSM2_", true},
    Prefix{"PSM3_", true},
    Prefix{"CUDA_VISIBLE_DEVICES", false},
    Prefix{"ROCR_", false},
    Prefix{"HIP_VISIBLE_DEVICES", false},
    Prefix{"HIP_", true},
    Prefix{"GDRCOPY_", true},
    Prefix{"OMP_NUM_THREADS", false},
};
/// What Open MPI's launcher tells its processes this way: addresses and keys of this one job, not settings.
constexpr std::array<std::string_view, 6> internal{"OMPI_MCA_orte_",   "OMPI_MCA_ess",  "OMPI_MCA_initial_wdir",
                                                   "OMPI_MCA_shmem_R", "OMPI_MCA_pmix", "PRTE_MCA_ess"};

/// The first that the name begins with; nullptr: it does not concern communication.
const Prefix* prefix_of(std::string_view name) {
  const bool is_internal =
      std::any_of(internal.begin(), internal.end(), [&](auto beginning) { return name.starts_with(beginning); });
  if (is_internal) return nullptr;
  const auto* const found = std::find_if(prefixes.begin(), prefixes.end(),
                                         [&](const Prefix& prefix) { return name.starts_with(prefix.text); });
  return found == prefixes.end() ? nullptr : &*found;
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
    if (equals == std::string_view::npos || prefix_of(text.substr(0, equals)) == nullptr) continue;
    chosen.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return chosen;
}

std::vector<std::string> transport_settings(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> names;
  for (const auto& [name, value] : environment) {
    const Prefix* prefix = prefix_of(name);
    if (prefix != nullptr && prefix->is_setting) names.push_back(name);
  }
  return names;
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
  for (const auto& transport : transport::all()) {
    for (const auto& [name, version] : transport.versions()) all[name] = version;
  }
  return all;
}

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::time(nullptr))); }

std::string start_identifier() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("{:%Y%m%dT%H%M%SZ}-{}-{}", fmt::gmtime(std::time(nullptr)), host.data(), getpid());
}

}  // namespace commlens

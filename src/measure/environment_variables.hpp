// Which environment variables a record keeps. Header-only and without code of the C++ library,
// because the preloaded profiling library uses it too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace commlens::environment {

namespace detail {

using Names = const std::string_view[];

/// Of communication libraries and launchers.
constexpr Names recorded = {"UCX_",   "OMPI_MCA_", "PRTE_MCA_", "MPICH_",         "MPIR_CVAR_",
                            "I_MPI_", "MV2_",      "MVP_",      "NCCL_",          "RCCL_",
                            "FI_",    "HSA_",      "PSM2_",     "PSM3_",          "CUDA_VISIBLE_DEVICES",
                            "ROCR_",  "HIP_",      "GDRCOPY_",  "OMP_NUM_THREADS"};
/// What Open MPI's launcher passes to its processes: addresses and keys of one job, not settings.
constexpr Names of_launcher = {"OMPI_MCA_orte_",   "OMPI_MCA_ess",  "OMPI_MCA_initial_wdir",
                               "OMPI_MCA_shmem_R", "OMPI_MCA_pmix", "PRTE_MCA_ess"};
/// Those that change how bytes travel.
constexpr Names transport_settings = {"UCX_",
                                      "NCCL_",
                                      "RCCL_",
                                      "FI_",
                                      "MPICH_",
                                      "MV2_",
                                      "PSM2_",
                                      "HSA_",
                                      "HIP_",
                                      "OMPI_MCA_pml",
                                      "OMPI_MCA_btl",
                                      "OMPI_MCA_mtl",
                                      "OMPI_MCA_coll",
                                      "OMPI_MCA_osc",
                                      "OMPI_MCA_smsc",
                                      "OMPI_MCA_accelerator",
                                      "OMPI_MCA_opal_common_ucx",
                                      "OMPI_MCA_opal_cuda"};
/// A process's share of the node, which a launcher sets.
constexpr Names per_process = {"HIP_VISIBLE_DEVICES", "PSM2_DEVICES"};
/// Words in the names of variables whose values are secret.
constexpr Names secret_words = {"PASSWORD", "PASSWD",  "SECRET", "TOKEN", "CREDENTIAL",
                                "AUTH",     "PRIVATE", "APIKEY", "_KEY"};
constexpr std::size_t secret_length = 32;

constexpr bool begins_with_any(std::string_view text, const auto& beginnings) {
  return std::any_of(std::begin(beginnings), std::end(beginnings),
                     [text](std::string_view beginning) { return text.starts_with(beginning); });
}

constexpr char upper(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

/// Whether `word`, in capitals, is in the text, in whatever case.
constexpr bool contains(std::string_view text, std::string_view word) {
  for (std::size_t start = 0; start + word.size() <= text.size(); ++start) {
    std::size_t same = 0;
    while (same < word.size() && upper(text[start + same]) == word[same]) ++same;
    if (same == word.size()) return true;
  }
  return false;
}

/// One long word of digits and letters of both kinds, as keys and hashes are.
constexpr bool is_like_a_key(std::string_view value) {
  bool has_digit = false;
  bool has_letter = false;
  for (const char letter : value) {
    const bool is_digit = letter >= '0' && letter <= '9';
    const bool is_letter = upper(letter) >= 'A' && upper(letter) <= 'Z';
    const bool is_base64 = letter == '+' || letter == '/' || letter == '=';
    if (!is_digit && !is_letter && !is_base64) return false;
    has_digit = has_digit || is_digit;
    has_letter = has_letter || is_letter;
  }
  return value.size() >= secret_length && has_digit && has_letter && !value.starts_with('/');
}

/// `https://user:password@host`
constexpr bool has_password(std::string_view value) {
  const std::size_t scheme = value.find("://");
  return scheme != std::string_view::npos && value.find('@', scheme) != std::string_view::npos;
}

}  // namespace detail

/// Whether the variable is likely to hold a password or a key.
constexpr bool is_secret(std::string_view name, std::string_view value) {
  for (const std::string_view word : detail::secret_words) {
    if (detail::contains(name, word)) return true;
  }
  return detail::is_like_a_key(value) || detail::has_password(value);
}

/// Whether the variable concerns communication and can be published.
constexpr bool is_recorded(std::string_view name, std::string_view value) {
  return detail::begins_with_any(name, detail::recorded) && !detail::begins_with_any(name, detail::of_launcher) &&
         !is_secret(name, value);
}

/// Whether the variable changes how bytes travel.
constexpr bool is_transport_setting(std::string_view name) {
  return detail::begins_with_any(name, detail::transport_settings) &&
         !detail::begins_with_any(name, detail::per_process);
}

static_assert(is_recorded("UCX_TLS", "cuda_copy,rc_x"));
static_assert(is_recorded("CUDA_VISIBLE_DEVICES", "GPU-5f0c1d2e-0a1b-2c3d-4e5f-a0b1c2d3e4f5"));
static_assert(!is_recorded("HOME", "/home/user") && !is_recorded("OMPI_MCA_orte_jobid", "1"));
static_assert(!is_recorded("NCCL_AUTH_TOKEN", "1") && !is_recorded("UCX_X", "http://me:word@host"));
static_assert(!is_recorded("FI_X", "0123456789abcdef0123456789abcdef"));
static_assert(is_transport_setting("OMPI_MCA_pml") && !is_transport_setting("HIP_VISIBLE_DEVICES"));

}  // namespace commlens::environment

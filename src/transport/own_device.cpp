#include "transport/own_device.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace commlens {

std::optional<int> local_rank_from_environment() {
  constexpr std::array names{"OMPI_COMM_WORLD_LOCAL_RANK",
                             "MPI_LOCALRANKID",
                             "MV2_COMM_WORLD_LOCAL_RANK",
                             "PALS_LOCAL_RANKID",
                             "JSM_NAMESPACE_LOCAL_RANK",
                             "FLUX_TASK_LOCAL_ID",
                             "SLURM_LOCALID"};
  for (const char* name : names) {
    const char* text = std::getenv(name);
    int rank = -1;
    if (text != nullptr && std::from_chars(text, text + std::strlen(text), rank).ec == std::errc{} && rank >= 0)
      return rank;
  }
  return std::nullopt;
}

std::unique_ptr<device::Device> open_own_device(int local_rank) {
  const int ordinal = gpu_of(local_rank, device::gpu_count());
  auto device = ordinal >= 0 ? device::open_gpu(ordinal) : device::open_host();
  device->make_current();
  return device;
}

int gpu_of(int local_rank, int count) { return count > 0 ? local_rank % count : -1; }

}  // namespace commlens

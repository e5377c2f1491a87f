#include "transport/rank_device.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/knowledge_lists.hpp"

namespace commlens {

std::optional<int> local_rank_from_environment() {
  for (const char* name : knowledge::rank_variables::local_rank) {
    const char* text = std::getenv(name);
    int rank = -1;
    if (text != nullptr && std::from_chars(text, text + std::strlen(text), rank).ec == std::errc{} && rank >= 0)
      return rank;
  }
  return std::nullopt;
}

std::unique_ptr<device::Device> open_rank_device(int local_rank) {
  const int ordinal = gpu_of(local_rank, device::gpu_count());
  auto device = ordinal >= 0 ? device::open_gpu(ordinal) : device::open_host();
  device->make_current();
  return device;
}

int gpu_of(int local_rank, int count) { return count > 0 ? local_rank % count : -1; }

}  // namespace commlens

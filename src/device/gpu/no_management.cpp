// Stands in where no management library is used: AMD's is not part of HIP.
#include <optional>
#include <string>

#include "device/gpu/libraries.hpp"

namespace commlens::device::gpu {

std::optional<PowerLimit> power_limit_of(const std::string& /*pci*/) { return std::nullopt; }
std::optional<Clock> clock_of(const std::string& /*pci*/) { return std::nullopt; }

}  // namespace commlens::device::gpu

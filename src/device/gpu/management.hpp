// What the management library of a GPU's driver says of it.
#pragma once

#include <optional>
#include <string>

#include "device/device.hpp"

namespace commlens::device::gpu {

/// Of the GPU at a PCI address. Nothing where the library is missing or does not say.
std::optional<PowerLimit> power_limit_of(const std::string& pci);
std::optional<Clock> clock_of(const std::string& pci);

}  // namespace commlens::device::gpu

// Copies of what a rank sends or receives, where it is not in the memory of the GPU without gaps.
#pragma once

#include "gpu.hpp"
#include "operands.hpp"

namespace commlens::reroute {

/// Whether NCCL can use the program's memory.
bool is_resident(const Side& side, const Device& device);

/// Copies all elements to, or from, memory without gaps, which is the device's.
bool pack(Device& device, const Side& side, char* to);
bool unpack(Device& device, const Side& side, const char* from);

}  // namespace commlens::reroute

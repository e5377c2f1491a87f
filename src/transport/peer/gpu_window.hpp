// One-sided operations on the memory of GPUs: each is a copy, or a kernel, of the calling rank's GPU on the memory of
// the other one. They are under way until the host waits for them. Atomic operations are atomic for all GPUs that
// NVLink or Infinity Fabric connects; across PCIe they are not.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "transport/communicator.hpp"
#include "transport/window.hpp"

namespace commlens::transport::peer {

/// Collective. `parts[r]` is where the GPU of this rank, `device`, finds the part of rank r; `memory`, what the window
/// keeps until its end.
std::unique_ptr<Window> make_gpu_window(const Communicator& communicator, device::Device& device,
                                        std::vector<std::byte*> parts, std::shared_ptr<const void> memory);

}  // namespace commlens::transport::peer

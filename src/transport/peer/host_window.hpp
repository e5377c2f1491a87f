// One-sided operations on host memory: loads and stores into the parts of the other ranks, by the calling thread. They
// have ended when they return. Atomic ones hold a lock of the part on which they work.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "transport/communicator.hpp"
#include "transport/window.hpp"

namespace commlens::transport::peer {

/// Collective. `parts[r]` is where this rank finds the part of rank r; `memory`, what the window keeps until its end.
std::unique_ptr<Window> make_host_window(const Communicator& communicator, std::vector<std::byte*> parts,
                                         std::shared_ptr<const void> memory);

}  // namespace commlens::transport::peer

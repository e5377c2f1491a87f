#pragma once

#include <memory>
#include <string>

#include "transport/transport.hpp"

namespace commlens::transport::peer {

/// The transport on the memory of GPUs: kernels that store into the memory of the other ranks' GPUs.
std::unique_ptr<Transport> make_gpu_peer(const Setup& setup);

/// Why the GPUs of the ranks cannot do that; empty if they can. Collective.
std::string gpus_unsupported(const Setup& setup);

}  // namespace commlens::transport::peer

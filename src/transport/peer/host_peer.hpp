#pragma once

#include <memory>

#include "transport/transport.hpp"

namespace commlens::transport::peer {

/// The transport on host memory.
std::unique_ptr<Transport> make_host_peer(const Communicator& communicator);

}  // namespace commlens::transport::peer

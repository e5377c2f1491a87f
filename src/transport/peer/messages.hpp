// What both kinds of the transport `peer` make operations of.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "transport/transport.hpp"

namespace commlens::transport::peer {

/// Of one rank in one operation.
struct Messages {
  std::vector<Message> sends;
  std::vector<Message> receives;
};

Messages messages_of_alltoallv(const Communicator& communicator, const void* input, std::span<const Piece> sends,
                               void* output, std::span<const Piece> receives);
Messages messages_of_broadcast(const Communicator& communicator, void* data, std::size_t bytes, int root);

/// The numbers of all ranks among those that share the buffers, by rank; `own` is this rank's. Collective.
std::vector<int> members_of(const Communicator& communicator, int own);

}  // namespace commlens::transport::peer

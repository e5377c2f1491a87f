// Collective operations that only copy, as messages between ranks: for transports that have no call of their own.
#pragma once

#include <memory>
#include <string>

#include "transport/collectives.hpp"
#include "transport/transport.hpp"

namespace commlens::transport {

/// Whether no library has a call for the operation: it is made of messages over every transport.
bool is_by_messages(Operation operation);
/// Why by_messages() cannot do this; empty if it can: every operation but the reductions and the barrier.
std::string by_messages_unsupported(const Collective& collective, CallMode mode);

/// How a rank's blocks for itself get from its input to its output.
enum class OwnBlocks {
  copied,   ///< by the stream, before the messages
  messages  ///< as messages of the rank to itself, at the same time as the others
};

/// The blocks of the operation as messages of Transport::exchange(). The transport must outlive it.
std::unique_ptr<Exchange> by_messages(Transport& transport, const Collective& collective,
                                      OwnBlocks own = OwnBlocks::copied);

}  // namespace commlens::transport

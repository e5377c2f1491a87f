// A build for the host alone.
#include <memory>
#include <string>

#include "base/error.hpp"
#include "transport/peer/messages.hpp"

namespace commlens::transport::peer {

std::unique_ptr<Transport> make_gpu_peer(const Setup& /*setup*/) { throw Error("peer: this build has no GPU backend"); }

std::string gpus_unsupported(const Setup& /*setup*/) { return "peer on GPU memory: this build has no GPU backend"; }

}  // namespace commlens::transport::peer

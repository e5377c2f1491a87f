#include "transport/peer/messages.hpp"

#include <string>

#include "transport/by_messages.hpp"

namespace commlens::transport::peer {

Messages messages_of_alltoallv(const Communicator& communicator, const void* input, std::span<const Piece> sends,
                               void* output, std::span<const Piece> receives) {
  const int rank = communicator.rank();
  const int ranks = communicator.size();
  Messages messages;
  // Ranks begin with different peers, so that not all of them access the memory of one at the same time.
  for (int step = 0; step < ranks; ++step) {
    const int to = (rank + step) % ranks;
    const int from = (rank + ranks - step) % ranks;
    const Piece& to_peer = sends[static_cast<std::size_t>(to)];
    const Piece& from_peer = receives[static_cast<std::size_t>(from)];
    // A message that is sent is only read.
    auto* const data = const_cast<std::byte*>(static_cast<const std::byte*>(input));
    messages.sends.push_back({to, data + to_peer.offset, to_peer.bytes});
    messages.receives.push_back({from, static_cast<std::byte*>(output) + from_peer.offset, from_peer.bytes});
  }
  return messages;
}

std::string combining_unsupported(DataType type, Reduction reduction) {
  if (is_of_bits(reduction) && !is_integer(type)) {
    return "bits are reduced of integers, not of " + std::string(name(type));
  }
  if (is_complex(type) && reduction != Reduction::sum) return "complex numbers are only summed";
  if (reduction == Reduction::avg || reduction == Reduction::premulsum || reduction == Reduction::user) {
    return "peer has no reduction " + std::string(name(reduction));
  }
  return {};
}

std::string PeerTransport::unsupported(const Collective& collective, CallMode mode) const {
  const bool is_barrier = collective.operation == Operation::barrier;
  if (!is_barrier && !collective.description().reduces) return by_messages_unsupported(collective, mode);
  if (mode != CallMode::blocking) return "reductions and barriers of peer are blocking";
  if (is_barrier) return {};
  if (collective.in_place && collective.operation == Operation::scan) {
    return "peer has no scan in place: ranks read each other's inputs";
  }
  return combining_unsupported(collective.type, collective.reduction);
}

std::unique_ptr<Exchange> PeerTransport::collective(const Collective& collective, CallMode mode) {
  if (collective.operation == Operation::barrier || collective.operation == Operation::allreduce) {
    return Transport::collective(collective, mode);
  }
  if (!collective.description().reduces) return by_messages(*this, collective, own_blocks());
  return undivided(
      [this, collective, blocks = collective.blocks()](device::Stream& stream) { reduce(collective, blocks, stream); });
}

std::vector<int> members_of(const Communicator& communicator, int number) {
  std::vector<int> members;
  for (const std::string& member : communicator.gather(std::to_string(number))) members.push_back(std::stoi(member));
  return members;
}

}  // namespace commlens::transport::peer

// What both kinds of the transport `peer` make operations of.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/activity.hpp"
#include "transport/by_messages.hpp"
#include "transport/transport.hpp"

namespace commlens::transport::peer {

inline const Call peer_call{"an operation of the transport peer"};

/// Of one rank in one operation.
struct Messages {
  std::vector<Message> sends;
  std::vector<Message> receives;
};

Messages messages_of_alltoallv(const Communicator& communicator, const void* input, std::span<const Piece> sends,
                               void* output, std::span<const Piece> receives);

/// Why values of the type cannot be combined so; empty if they can.
std::string combining_unsupported(DataType type, Reduction reduction);

/// What is alike on the host and on GPUs: everything but reductions is made of transfers of messages.
class PeerTransport : public Transport {
 public:
  void alltoallv(const void* input, std::span<const Piece> sends, void* output, std::span<const Piece> receives,
                 device::Stream& stream) final {
    transfer(messages_of_alltoallv(communicator_, input, sends, output, receives), stream);
  }
  [[nodiscard]] std::string unsupported(const Collective& collective, CallMode mode) const final;
  std::unique_ptr<Exchange> collective(const Collective& collective, CallMode mode) final;
  /// A rank replaces only what no other one reads.
  [[nodiscard]] InPlaceOffsets in_place(const Collective& collective) const final {
    return in_place_of_nccl(collective);
  }
  [[nodiscard]] bool takes_host_memory() const final { return false; }
  [[nodiscard]] bool can_split() const final { return true; }
  /// Of memory of its own, or of the buffers.
  [[nodiscard]] std::vector<WindowCreation> windows(device::Memory /*memory*/) const final {
    return {WindowCreation::allocate, WindowCreation::create};
  }

 protected:
  /// `members[r]` is the rank of rank r among those that share the buffers.
  PeerTransport(Communicator communicator, std::vector<int> members)
      : communicator_(std::move(communicator)), members_(std::move(members)) {}

  virtual void transfer(Messages messages, device::Stream& stream) = 0;
  /// What takes less time for the blocks that a rank keeps.
  [[nodiscard]] virtual OwnBlocks own_blocks() const = 0;
  virtual void reduce(const Collective& collective, const std::vector<Block>& blocks, device::Stream& stream) = 0;
  [[nodiscard]] const Communicator& communicator() const { return communicator_; }
  /// Where this rank finds what each rank has at `data`, by rank; `part_of(rank)` is where it finds the part in which
  /// that lies. Collective.
  template <class PartOf>
  [[nodiscard]] std::vector<std::byte*> places_of(const void* data, PartOf part_of) const {
    const auto offset = static_cast<const std::byte*>(data) - part_of(communicator_.rank());
    std::vector<std::byte*> places;
    for (const std::string& theirs : communicator_.gather(std::to_string(offset))) {
      places.push_back(part_of(static_cast<int>(places.size())) + std::stoull(theirs));
    }
    return places;
  }
  /// Of a rank among those that share the buffers.
  [[nodiscard]] int member(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

 private:
  Communicator communicator_;
  std::vector<int> members_;
};

/// The numbers of all ranks among those that share the buffers, by rank; `number` is this rank's. Collective.
std::vector<int> members_of(const Communicator& communicator, int number);

/// The transport on host memory.
std::unique_ptr<Transport> make_host_peer(const Communicator& communicator);

/// The transport on the memory of GPUs: kernels that store into the memory of the other ranks' GPUs.
std::unique_ptr<Transport> make_gpu_peer(const Setup& setup);

/// Why the GPUs of the ranks cannot do that; empty if they can. Collective.
std::string gpus_unsupported(const Setup& setup);

}  // namespace commlens::transport::peer

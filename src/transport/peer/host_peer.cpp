// `peer` on host memory: the ranks of a node share it. The calling thread does everything.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "transport/activity.hpp"
#include "transport/by_messages.hpp"
#include "transport/mpi_calls.hpp"
#include "transport/peer/host_window.hpp"
#include "transport/peer/messages.hpp"
#include "transport/peer/node_memory.hpp"
#include "transport/peer/rings.hpp"
#include "transport/peer/sums.hpp"
#include "transport/peer/waiting.hpp"

namespace commlens::transport::peer {

namespace {

class HostExchange final : public Exchange {
 public:
  HostExchange(Rings& rings, std::vector<Message> sends, std::vector<Message> receives)
      : rings_(rings),
        sends_(std::move(sends)),
        receives_(std::move(receives)),
        sent_(sends_.size()),
        received_(receives_.size()) {}

  void start(device::Stream& stream) override {
    wait_for_stream(stream);
    const InCall call(peer_call);
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      received_[i] = rings_.post_receive(receives_[i].peer, receives_[i].data, receives_[i].bytes);
    }
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      sent_[i] = rings_.post_send(sends_[i].peer, sends_[i].data, sends_[i].bytes);
    }
  }

  void finish(device::Stream& /*stream*/) override {
    const InCall call(peer_call);
    for (std::size_t i = 0; i < receives_.size(); ++i) rings_.wait_received(receives_[i].peer, received_[i]);
    for (std::size_t i = 0; i < sends_.size(); ++i) rings_.wait_sent(sends_[i].peer, sent_[i]);
  }

 private:
  Rings& rings_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::vector<Rings::Number> sent_;
  std::vector<Rings::Number> received_;
};

class HostPeer final : public PeerTransport {
 public:
  /// `members[r]` is the rank of rank r among those that share the arenas.
  HostPeer(Communicator communicator, std::shared_ptr<const Arenas> arenas, std::vector<int> members)
      : PeerTransport(std::move(communicator), std::move(members)),
        arenas_(std::move(arenas)),
        blocks_(this->communicator()),
        rings_(
            rank(), ranks(), [this](int from, int to) -> Ring& { return blocks_.ring(from, to); },
            [this](int sender, const std::byte* data) { return find(sender, data); }) {}

  device::Buffer allocate(std::size_t bytes) override {
    arenas_ = std::make_shared<Arenas>(communicator(), bytes);
    return {arenas_->part(), bytes, device::Memory::host};
  }

  void send(const void* data, std::size_t bytes, int to, device::Stream& stream) override {
    require_reachable(data, bytes);
    wait_for_stream(stream);
    const InCall call(peer_call);
    rings_.wait_sent(to, rings_.post_send(to, data, bytes));
  }

  void receive(void* data, std::size_t bytes, int from, device::Stream& stream) override {
    wait_for_stream(stream);
    const InCall call(peer_call);
    rings_.wait_received(from, rings_.post_receive(from, data, bytes));
  }

  std::unique_ptr<Exchange> exchange(std::vector<Message> sends, std::vector<Message> receives) override {
    for (const Message& message : sends) require_reachable(message.data, message.bytes);
    return std::make_unique<HostExchange>(rings_, std::move(sends), std::move(receives));
  }

  void allreduce(const void* input, void* output, std::size_t count, DataType type, device::Stream& stream,
                 Reduction reduction) override {
    const std::size_t bytes = count * size_of(type);
    require_reachable(input, bytes);
    require_reachable(output, bytes);
    wait_for_stream(stream);
    const InCall call(peer_call);
    const auto* from = static_cast<const std::byte*>(input);
    auto* to = static_cast<std::byte*>(output);
    if (bytes <= mailbox_bytes) {
      reduce_at_once(from, to, count, type, reduction);
    } else {
      reduce_in_shares(from, to, count, type, reduction);
    }
  }

  void barrier(device::Stream& stream) override {
    wait_for_stream(stream);
    const InCall call(peer_call);
    synchronize_ranks();
  }

  std::unique_ptr<Window> window(WindowCreation creation, void* data, std::size_t bytes) override {
    if (creation == WindowCreation::allocate) {
      const auto own = std::make_shared<const Arenas>(communicator(), bytes);
      return make_host_window(communicator(), places_of(own->part(), [&](int of) { return own->part_of(of); }), own);
    }
    require_reachable(data, bytes);
    return make_host_window(communicator(), places_of(data, [&](int of) { return arenas_->part_of(member(of)); }),
                            nullptr);
  }

  void while_waiting(const std::function<void()>& work) override { rings_.while_waiting(work); }

  std::unique_ptr<Transport> split(Communicator sub_communicator) override {
    std::vector<int> members = members_of(sub_communicator, member(rank()));
    auto split = std::make_unique<HostPeer>(std::move(sub_communicator), arenas_, std::move(members));
    split->while_waiting(rings_.work());
    return split;
  }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] int rank() const { return communicator().rank(); }
  [[nodiscard]] int ranks() const { return communicator().size(); }
  [[nodiscard]] ControlBlock& control() const { return blocks_.of(rank()); }

  [[nodiscard]] const std::byte* find(int other, const std::byte* data) const {
    return other == rank() ? data : arenas_->find(member(other), data);
  }

  void require_reachable(const void* data, std::size_t bytes) const {
    if (bytes == 0 || (arenas_ && arenas_->has(data, bytes))) return;
    throw Error("peer: a buffer is not in the memory that Transport::allocate() has made");
  }

  [[nodiscard]] OwnBlocks own_blocks() const override { return OwnBlocks::copied; }
  void transfer(Messages messages, device::Stream& stream) override {
    exchange(std::move(messages.sends), std::move(messages.receives))->run(stream);
  }

  /// From the inputs of the other ranks, where they are. In place a rank writes only what nobody else reads: the root
  /// of a reduce its array, and in a reduce-scatter each its block.
  void reduce(const Collective& collective, const std::vector<Block>& blocks, device::Stream& stream) override {
    const std::size_t size = size_of(collective.type);
    require_reachable(collective.input, collective.description().input(collective.shape) * size);
    wait_for_stream(stream);
    const InCall call(peer_call);
    control().input = static_cast<const std::byte*>(collective.input);
    synchronize_ranks();
    for (const Block& block : blocks) {
      std::vector<const std::byte*> inputs;
      for (int other = block.first; other <= block.last; ++other) {
        inputs.push_back(find(other, blocks_.of(other).input) + block.input * size);
      }
      combine(inputs, static_cast<std::byte*>(collective.output) + block.output * size, block.count, collective.type,
              collective.reduction);
    }
    synchronize_ranks();
  }

  /// Returns once all ranks have come here. What they wrote before can be read then.
  void synchronize_ranks() {
    const std::uint64_t phase = control().phase.load(std::memory_order_relaxed) + 1;
    control().phase.store(phase, std::memory_order_release);
    for (int other = 0; other < ranks(); ++other) {
      const auto& flag = blocks_.of(other).phase;
      for (SpinWait wait(&rings_.work()); flag.load(std::memory_order_acquire) < phase; wait.look_again())
        rings_.proceed();
    }
  }

  /// Every rank combines everything. A mailbox is written again two operations later: by then all ranks have come to
  /// the operation in between, and so have read it.
  void reduce_at_once(const std::byte* input, std::byte* output, std::size_t count, DataType type,
                      Reduction reduction) {
    const std::size_t turn = ++small_reductions_ % 2;
    const std::size_t bytes = count * size_of(type);
    if (bytes > 0) std::memcpy(control().mailboxes[turn], input, bytes);
    synchronize_ranks();
    std::vector<const std::byte*> inputs;
    for (int other = 0; other < ranks(); ++other) inputs.push_back(blocks_.of(other).mailboxes[turn]);
    combine(inputs, output, count, type, reduction);
  }

  /// Each rank combines its share, and fetches those of the others. No share is written while somebody may read it,
  /// also where output is input: a rank writes its own share only, which it alone reads, until all have theirs.
  void reduce_in_shares(const std::byte* input, std::byte* output, std::size_t count, DataType type,
                        Reduction reduction) {
    control().input = input;
    control().output = output;
    synchronize_ranks();
    const auto begin = [&](int of) { return count * index(of) / index(ranks()) * size_of(type); };
    std::vector<const std::byte*> inputs;
    for (int other = 0; other < ranks(); ++other) {
      inputs.push_back(find(other, blocks_.of(other).input) + begin(rank()));
    }
    const std::size_t share_bytes = begin(rank() + 1) - begin(rank());
    combine(inputs, output + begin(rank()), share_bytes / size_of(type), type, reduction);
    synchronize_ranks();
    for (int step = 1; step < ranks(); ++step) {
      const int other = (rank() + step) % ranks();
      const std::size_t offset = begin(other);
      const std::byte* sums = find(other, blocks_.of(other).output) + offset;
      std::memcpy(output + offset, sums, begin(other + 1) - offset);
    }
    synchronize_ranks();
  }

  std::shared_ptr<const Arenas> arenas_;
  ControlBlocks blocks_;
  Rings rings_;
  std::size_t small_reductions_ = 0;
};

}  // namespace

std::unique_ptr<Transport> make_host_peer(const Communicator& communicator) {
  return std::make_unique<HostPeer>(Communicator(communicator.handle()), nullptr,
                                    members_of(communicator, communicator.rank()));
}

}  // namespace commlens::transport::peer

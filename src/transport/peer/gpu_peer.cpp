// `peer` on the memory of GPUs. Every operation is one kernel on the caller's stream (region.hpp), and the host does
// not wait for it. Between start() and finish() messages are on a stream of the transport, in the order of their
// starts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "device/device.hpp"
#include "device/gpu/check.hpp"
#include "device/upload.hpp"
#include "transport/activity.hpp"
#include "transport/by_messages.hpp"
#include "transport/peer/gpu_memory.hpp"
#include "transport/peer/gpu_window.hpp"
#include "transport/peer/message_kernels.hpp"
#include "transport/peer/messages.hpp"
#include "transport/peer/plan.hpp"
#include "transport/peer/reduction_kernels.hpp"

namespace commlens::transport::peer {

namespace {

template <class... Parameters, class... Arguments>
void launch_kernel(device::Stream& stream, unsigned blocks, unsigned threads, void (*kernel)(Parameters...),
                   const Arguments&... arguments) {
  kernel<<<blocks, threads, 0, static_cast<gpuStream_t>(stream.native())>>>(arguments...);
  device::gpu::check(gpuGetLastError(), "kernel launch");
}

using gpu::Links;
using gpu::Lists;
using gpu::Plan;
using gpu::Roles;
using gpu::Transfer;

constexpr std::size_t most_given = 2 * gpu::most_ranks;
/// The messages of an operation, as arguments of its kernel.
struct Given {
  Transfer transfers[most_given];
};

__global__ void gpuLaunchBounds(gpu::threads_per_block, 2)
    transfer_listed(const gpuGridConstant Links links, Lists lists, Roles roles) {
  gpu::transfer(links, lists, roles);
}

__global__ void gpuLaunchBounds(gpu::threads_per_block, 2)
    transfer_given(const gpuGridConstant Links links, const gpuGridConstant Given given, Lists lists, Roles roles) {
  lists.transfers = given.transfers;
  gpu::transfer(links, lists, roles);
}

__global__ void synchronize_ranks(const gpuGridConstant Links links) { gpu::synchronize_ranks(links); }

template <class Element>
__global__ void gpuLaunchBounds(gpu::threads_per_block, 2)
    reduce_at_once(const gpuGridConstant Links links, const Element* input, Element* output, std::size_t count,
                   gpu::Combiner combine) {
  gpu::reduce_at_once(links, input, output, count, combine);
}

template <class Element>
__global__ void gpuLaunchBounds(gpu::threads_per_block, 2)
    reduce_share(const gpuGridConstant Links links, const Element* input, Element* output, gpu::Share share,
                 gpu::Combiner combine) {
  __shared__ gpu::Arrays arrays;
  gpu::reduce_share(links, input, output, share, combine, arrays);
}

/// The stream of messages that overlap with other work. Kernels count messages, so that only one of them may run at a
/// time: while such messages are under way, all others are launched on this stream, too.
class TransferStream {
 public:
  explicit TransferStream(device::Device& device)
      : device_(device),
        stream_(device.concurrent_stream(device::Memory::device, device::Priority::high)),
        earlier_(new_event()) {}

  [[nodiscard]] std::unique_ptr<device::Event> new_event() const { return device_.event(device::Memory::device); }
  [[nodiscard]] device::Device& device() const { return device_; }
  [[nodiscard]] device::Stream& stream() const { return *stream_; }

  /// Launches on its own stream, after what is on `stream` now; records `done` behind it.
  template <class Launch>
  void start(device::Stream& stream, device::Event& done, Launch launch) {
    ++under_way_;
    stream.record(*earlier_);
    stream_->wait_for(*earlier_);
    launch(*stream_);
    stream_->record(done);
  }
  void finish(device::Stream& stream, device::Event& done) {
    --under_way_;
    stream.wait_for(done);
  }
  /// On `stream` itself, unless messages are under way.
  template <class Launch>
  void run(device::Stream& stream, device::Event& done, Launch launch) {
    if (under_way_ == 0) return launch(stream);
    start(stream, done, launch);
    finish(stream, done);
  }

 private:
  device::Device& device_;
  std::unique_ptr<device::Stream> stream_;
  std::unique_ptr<device::Event> earlier_;
  int under_way_ = 0;  ///< exchanges that were started and not finished
};

/// The messages of one operation: as arguments of the kernel, or in the GPU's memory if there are many.
class Transfers {
 public:
  Transfers(const Links& links, const TransferStream& transfer_stream, const Plan& plan)
      : links_(links), lists_(plan.lists()), roles_(plan.roles()), threads_(plan.threads()) {
    const auto& transfers = plan.transfers();
    if (transfers.size() <= most_given) {
      std::copy(transfers.begin(), transfers.end(), given_.transfers);
      return;
    }
    table_ = device::upload(
        transfers, [&](std::size_t bytes) { return transfer_stream.device().allocate(device::Memory::device, bytes); },
        transfer_stream.stream());
    lists_.transfers = table_.as<Transfer>();
  }

  void launch(device::Stream& stream) const {
    if (roles_.blocks() == 0) return;
    const InCall call(peer_call);
    if (lists_.transfers != nullptr) {
      launch_kernel(stream, roles_.blocks(), threads_, transfer_listed, links_, lists_, roles_);
    } else {
      launch_kernel(stream, roles_.blocks(), threads_, transfer_given, links_, given_, lists_, roles_);
    }
  }

 private:
  const Links& links_;
  Lists lists_;
  Roles roles_;
  unsigned threads_;
  Given given_;
  device::Buffer table_;
};

class GpuExchange final : public Exchange {
 public:
  GpuExchange(const Links& links, TransferStream& transfer_stream, const Plan& plan)
      : transfer_stream_(transfer_stream),
        transfers_(links, transfer_stream, plan),
        done_(transfer_stream.new_event()) {}

  void start(device::Stream& stream) override {
    transfer_stream_.start(stream, *done_, [this](device::Stream& side) { transfers_.launch(side); });
  }
  void finish(device::Stream& stream) override { transfer_stream_.finish(stream, *done_); }
  void run(device::Stream& stream) override {
    transfer_stream_.run(stream, *done_, [this](device::Stream& side) { transfers_.launch(side); });
  }

 private:
  TransferStream& transfer_stream_;
  Transfers transfers_;
  std::unique_ptr<device::Event> done_;
};

class GpuPeer final : public PeerTransport {
 public:
  /// `members[r]` is the rank of rank r among those that share the arenas.
  GpuPeer(Communicator communicator, device::Device& device, std::shared_ptr<const GpuMemory> arenas,
          std::vector<int> members)
      : PeerTransport(std::move(communicator), std::move(members)),
        device_(device),
        arenas_(std::move(arenas)),
        regions_(share(sizeof(gpu::Region), GpuMemory::Use::flags)),
        transfer_stream_(device),
        done_(transfer_stream_.new_event()) {
    links_.rank = this->communicator().rank();
    links_.ranks = this->communicator().size();
    for (int rank = 0; rank < links_.ranks; ++rank) {
      links_.regions[rank] = reinterpret_cast<gpu::Region*>(regions_->of(rank));
    }
    find_arenas();
  }

  device::Buffer allocate(std::size_t bytes) override {
    arenas_ = share(bytes, GpuMemory::Use::buffers);
    arena_bytes_ = bytes;
    find_arenas();
    return {arenas_->of(links_.rank), bytes, device::Memory::device};
  }

  void send(const void* data, std::size_t bytes, int to, device::Stream& stream) override {
    // A message that is sent is only read.
    transfer({.sends = {{to, const_cast<void*>(data), bytes}}, .receives = {}}, stream);
  }

  void receive(void* data, std::size_t bytes, int from, device::Stream& stream) override {
    transfer({.sends = {}, .receives = {{from, data, bytes}}}, stream);
  }

  std::unique_ptr<Exchange> exchange(std::vector<Message> sends, std::vector<Message> receives) override {
    require_reachable(sends);
    require_reachable(receives);
    return std::make_unique<GpuExchange>(links_, transfer_stream_, Plan(sends, receives));
  }

  void allreduce(const void* input, void* output, std::size_t count, DataType type, device::Stream& stream,
                 Reduction reduction) override {
    require_reachable(input, count * size_of(type));
    require_reachable(output, count * size_of(type));
    require_combining(type, reduction);
    if (count == 0) return;
    const InCall call(peer_call);
    const std::size_t numbers = components(type) * count;
    with_element(type, [&](auto zero) {
      using Element = decltype(zero);
      const auto* from = static_cast<const Element*>(input);
      auto* to = static_cast<Element*>(output);
      if constexpr (sizeof(Element) % sizeof(unsigned) == 0) {
        if (numbers * sizeof(Element) <= gpu::mailbox_bytes) {
          const unsigned threads = gpu::threads_for(numbers * sizeof(Element) / sizeof(unsigned));
          return launch_kernel(stream, blocks_for(numbers), threads, reduce_at_once<Element>, links_, from, to, numbers,
                               gpu::Combiner{reduction});
        }
      }
      launch_share(from, to, share_of_all<Element>(numbers), reduction, stream);
    });
  }

  void barrier(device::Stream& stream) override {
    const InCall call(peer_call);
    launch_kernel(stream, 1, 32, synchronize_ranks, links_);
  }

  std::unique_ptr<Window> window(WindowCreation creation, void* data, std::size_t bytes) override {
    if (creation == WindowCreation::allocate) {
      const auto own = share(bytes, GpuMemory::Use::buffers);
      std::byte* const part = own->of(links_.rank);
      return make_gpu_window(communicator(), device_, places_of(part, [&](int of) { return own->of(of); }), own);
    }
    require_reachable(data, bytes);
    return make_gpu_window(communicator(), device_, places_of(data, [&](int of) { return links_.arenas[of]; }),
                           nullptr);
  }

  [[nodiscard]] bool enqueues() const override { return true; }
  std::unique_ptr<Transport> split(Communicator sub_communicator) override {
    std::vector<int> members = members_of(sub_communicator, member(links_.rank));
    auto part = std::make_unique<GpuPeer>(std::move(sub_communicator), device_, arenas_, std::move(members));
    part->arena_bytes_ = arena_bytes_;
    return part;
  }

 private:
  /// In place a rank writes only what nobody else reads: the root of a reduce its array, and in a reduce-scatter each
  /// its block.
  void reduce(const Collective& collective, const std::vector<Block>& blocks, device::Stream& stream) override {
    require_combining(collective.type, collective.reduction);
    const std::size_t size = size_of(collective.type);
    const std::size_t inputs = collective.description().input(collective.shape);
    require_reachable(collective.input, inputs * size);
    const Block block = blocks.empty() ? Block{} : blocks.front();
    if (block.count > 0) {
      require_reachable(static_cast<std::byte*>(collective.output) + block.output * size, block.count * size);
    }
    if (inputs == 0) return;  // on every rank
    const InCall call(peer_call);
    const std::size_t numbers = components(collective.type);
    with_element(collective.type, [&](auto zero) {
      using Element = decltype(zero);
      // Where nothing is written there may be no output.
      void* output = block.count > 0 ? collective.output : links_.arenas[links_.rank];
      launch_share(static_cast<const Element*>(collective.input), static_cast<Element*>(output),
                   {.first = block.first,
                    .last = block.last,
                    .input = block.input * numbers,
                    .count = block.count * numbers,
                    .output = block.output * numbers},
                   collective.reduction, stream);
    });
  }

  [[nodiscard]] std::shared_ptr<const GpuMemory> share(std::size_t bytes, GpuMemory::Use use) const {
    std::string problem;
    std::shared_ptr<const GpuMemory> memory = GpuMemory::make(communicator(), bytes, use, problem);
    if (!memory) throw Error("peer: no memory that the GPUs of the node share (" + problem + ")");
    return memory;
  }

  void find_arenas() {
    for (int rank = 0; arenas_ && rank < links_.ranks; ++rank) {
      links_.arenas[rank] = arenas_->of(member(rank));
    }
  }

  void require_reachable(const void* data, std::size_t bytes) const {
    const auto* first = static_cast<const std::byte*>(data);
    const std::byte* arena = links_.arenas[links_.rank];
    if (bytes == 0 || (arenas_ && first >= arena && first + bytes <= arena + arena_bytes_)) return;
    throw Error("peer: a buffer is not in the memory that Transport::allocate() has made");
  }
  void require_reachable(const std::vector<Message>& messages) const {
    for (const Message& message : messages) require_reachable(message.data, message.bytes);
  }

  /// One kernel instead of a copy and a kernel.
  [[nodiscard]] OwnBlocks own_blocks() const override { return OwnBlocks::messages; }
  void transfer(Messages messages, device::Stream& stream) override {
    require_reachable(messages.sends);
    require_reachable(messages.receives);
    const Transfers transfers(links_, transfer_stream_, Plan(messages.sends, messages.receives));
    transfer_stream_.run(stream, *done_, [&](device::Stream& side) { transfers.launch(side); });
  }

  static void require_combining(DataType type, Reduction reduction) {
    if (const std::string why = combining_unsupported(type, reduction); !why.empty()) throw Error("peer: " + why);
  }

  static unsigned blocks_for(std::size_t count) {
    const std::size_t blocks = (count + gpu::threads_per_block - 1) / gpu::threads_per_block;
    return static_cast<unsigned>(std::clamp<std::size_t>(blocks, 1, gpu::most_blocks));
  }

  /// Of an allreduce: so that no pack is divided.
  template <class Element>
  [[nodiscard]] gpu::Share share_of_all(std::size_t count) const {
    constexpr std::size_t length = gpu::Pack<Element>::length;
    const auto ranks = static_cast<std::size_t>(links_.ranks);
    const auto begin = [&](int rank) {
      return rank == links_.ranks ? count : count / length * static_cast<std::size_t>(rank) / ranks * length;
    };
    const std::size_t first = begin(links_.rank);
    return {.first = 0,
            .last = links_.ranks - 1,
            .input = first,
            .count = begin(links_.rank + 1) - first,
            .output = first,
            .to_all = true};
  }

  template <class Element>
  void launch_share(const Element* input, Element* output, const gpu::Share& share, Reduction reduction,
                    device::Stream& stream) const {
    launch_kernel(stream, blocks_for(share.count), gpu::threads_per_block, reduce_share<Element>, links_, input, output,
                  share, gpu::Combiner{reduction});
  }

  device::Device& device_;
  std::shared_ptr<const GpuMemory> arenas_;
  std::size_t arena_bytes_ = 0;
  std::shared_ptr<const GpuMemory> regions_;
  Links links_;
  TransferStream transfer_stream_;
  std::unique_ptr<device::Event> done_;  ///< of what does not overlap with anything
};

}  // namespace

std::unique_ptr<Transport> make_gpu_peer(const Setup& setup) {
  return std::make_unique<GpuPeer>(Communicator(setup.communicator.handle()), setup.device, nullptr,
                                   members_of(setup.communicator, setup.communicator.rank()));
}

std::string gpus_unsupported(const Setup& setup) {
  if (setup.communicator.size() > gpu::most_ranks) {
    return "peer connects at most " + std::to_string(gpu::most_ranks) + " GPUs";
  }
  std::string problem;
  (void)GpuMemory::make(setup.communicator, sizeof(gpu::Region), GpuMemory::Use::flags, problem);
  return problem.empty() ? problem : "peer needs GPUs that reach each other's memory: " + problem;
}

}  // namespace commlens::transport::peer

// `peer` on the memory of GPUs. Every operation is one kernel on the caller's stream (kernels.hpp), and the host does
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
#include "transport/peer/gpu_memory.hpp"
#include "transport/peer/message_kernels.hpp"
#include "transport/peer/messages.hpp"
#include "transport/peer/plan.hpp"
#include "transport/peer/sum_kernels.hpp"
#include "transport/peer/sums.hpp"

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

template <class Element, class Operation>
__global__ void gpuLaunchBounds(gpu::threads_per_block, 2)
    sum_at_once(const gpuGridConstant Links links, const Element* input, Element* output, std::size_t count,
                Operation operation) {
  gpu::sum_at_once(links, input, output, count, operation);
}

template <class Element, class Operation>
__global__ void gpuLaunchBounds(gpu::threads_per_block, 2)
    sum_in_shares(const gpuGridConstant Links links, const Element* input, Element* output, std::size_t count,
                  Operation operation) {
  __shared__ gpu::Arrays arrays;
  gpu::sum_in_shares(links, input, output, count, operation, arrays);
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
    return {arenas_->of(links_.rank), bytes, device::Memory::device, [](void*) noexcept {}};
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
    require_sum_of_complex(reduction, type);
    const auto combine_as = [&](auto element) {
      using Element = decltype(element);
      return with_arithmetic(reduction, [&](auto operation) {
        combine(static_cast<const Element*>(input), static_cast<Element*>(output), components(type) * count, stream,
                operation);
      });
    };
    const bool done = type == DataType::i32 ? combine_as(std::int32_t{}) : sums(type) && in_precision(type, combine_as);
    if (!done) throw Error("peer: no " + std::string(name(reduction)) + " of " + std::string(name(type)) + " on GPUs");
  }
  /// Elements of whole words.
  [[nodiscard]] bool sums(DataType type) const override { return type == DataType::i32 || type >= DataType::f32; }

  void barrier(device::Stream& stream) override {
    const InCall call(peer_call);
    launch_kernel(stream, 1, 32, synchronize_ranks, links_);
  }

  [[nodiscard]] bool enqueues() const override { return true; }
  std::unique_ptr<Transport> split(Communicator sub_communicator) override {
    std::vector<int> members = members_of(sub_communicator, member(links_.rank));
    auto part = std::make_unique<GpuPeer>(std::move(sub_communicator), device_, arenas_, std::move(members));
    part->arena_bytes_ = arena_bytes_;
    return part;
  }

 private:
  [[nodiscard]] std::string reduction_unsupported(const Collective& collective) const override {
    const Reduction reduction = collective.reduction;
    if (collective.operation != Operation::allreduce) return "peer has no reduction on GPUs but the allreduce";
    if (is_complex(collective.type) && reduction != Reduction::sum) return "complex numbers are only summed";
    if (sums(collective.type) && reduction <= Reduction::max) return {};
    return "peer has no " + std::string(name(reduction)) + " of " + std::string(name(collective.type)) + " on GPUs";
  }
  void reduce(const Collective& /*collective*/, const std::vector<Block>& /*blocks*/,
              device::Stream& /*stream*/) override {
    throw Error("peer: no reduction on GPUs but the allreduce");
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

  void transfer(Messages messages, device::Stream& stream) override {
    require_reachable(messages.sends);
    require_reachable(messages.receives);
    const Transfers transfers(links_, transfer_stream_, Plan(messages.sends, messages.receives));
    transfer_stream_.run(stream, *done_, [&](device::Stream& side) { transfers.launch(side); });
  }

  template <class Element, class Operation>
  void combine(const Element* input, Element* output, std::size_t count, device::Stream& stream, Operation operation) {
    if (count == 0) return;
    const InCall call(peer_call);
    constexpr std::size_t most = gpu::most_blocks;
    const std::size_t blocks = (count + gpu::threads_per_block - 1) / gpu::threads_per_block;
    const auto grid = static_cast<unsigned>(std::min(blocks, most));
    if (count * sizeof(Element) <= gpu::mailbox_bytes) {
      const unsigned threads = gpu::threads_for(count * sizeof(Element) / sizeof(unsigned));
      launch_kernel(stream, grid, threads, sum_at_once<Element, Operation>, links_, input, output, count, operation);
    } else {
      launch_kernel(stream, grid, gpu::threads_per_block, sum_in_shares<Element, Operation>, links_, input, output,
                    count, operation);
    }
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

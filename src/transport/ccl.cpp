// The transport `ccl`: NCCL, or RCCL, which has the same interface. Every rank needs a GPU of its own.
//
// Operations are enqueued on the caller's stream, which orders them, and return immediately. Between start() and
// finish() an exchange is on a stream of its own, synchronized with the caller's by events, so that other work can
// overlap with it. Where nothing does, run() saves the events and the changes of streams, which cost more than a small
// message.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "device/gpu/api.hpp"
#include "transport/by_messages.hpp"
#include "transport/ccl_library.hpp"
#include "transport/ccl_profiler.hpp"
#include "transport/ccl_window.hpp"
#include "transport/communicator.hpp"
#include "transport/reductions.hpp"
#include "transport/transport.hpp"

namespace commlens::transport {

namespace {

struct Elements {
  ncclDataType_t type;
  std::size_t count;
};

/// Numbers of 8 bits came with version 2.24.
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 24, 0)
constexpr bool has_small_floats = true;
constexpr ncclDataType_t e4m3 = ncclFloat8e4m3;
constexpr ncclDataType_t e5m2 = ncclFloat8e5m2;
#else
constexpr bool has_small_floats = false;
constexpr ncclDataType_t e4m3 = ncclUint8;
constexpr ncclDataType_t e5m2 = ncclUint8;
#endif

/// The library has no complex types; a sum of complex numbers is a sum of twice as many real ones.
Elements native(DataType type, std::size_t count) {
  return {entry_of(std::array{ncclInt8, ncclUint8, ncclInt32, ncclInt64, ncclFloat16, ncclBfloat16, e4m3, e5m2,
                              ncclFloat32, ncclFloat64, ncclFloat32, ncclFloat64},
                   type),
          components(type) * count};
}

/// Throws Error for what only MPI has.
ncclRedOp_t native(Reduction reduction, DataType type) {
  require_sum_of_complex(reduction, type);
  if (reduction > Reduction::avg) throw Error(COMMLENS_CCL_NAME " has no reduction " + std::string(name(reduction)));
  return std::array{ncclSum, ncclProd, ncclMin, ncclMax, ncclAvg}[static_cast<std::size_t>(reduction)];
}

gpuStream_t native(device::Stream& stream) { return static_cast<gpuStream_t>(stream.native()); }

/// All calls between its construction and finish() are one operation of the library.
class Group {
 public:
  Group() { CCL_CALL(ncclGroupStart); }
  Group(Group&&) = delete;
  ~Group() {
    if (open_) (void)CCL_FUNCTION(ncclGroupEnd)();
  }
  void finish() {
    open_ = false;
    CCL_CALL(ncclGroupEnd);
  }

 private:
  bool open_ = true;
};

/// Enqueued on a stream of its own between start() and finish(). The first start() makes it: many operations are only
/// run().
class CclExchange : public Exchange {
 public:
  CclExchange(ncclComm_t communicator, device::Device& device) : communicator_(communicator), device_(device) {}

  void start(device::Stream& stream) final {
    if (!stream_) {
      stream_ = device_.concurrent_stream(device::Memory::device, device::Priority::high);
      earlier_ = device_.event(device::Memory::device);
      done_ = device_.event(device::Memory::device);
    }
    stream.record(*earlier_);
    stream_->wait_for(*earlier_);
    run(*stream_);
    stream_->record(*done_);
  }

  void finish(device::Stream& stream) final { stream.wait_for(*done_); }

 protected:
  [[nodiscard]] ncclComm_t communicator() const { return communicator_; }

 private:
  ncclComm_t communicator_;
  device::Device& device_;
  std::unique_ptr<device::Stream> stream_;
  std::unique_ptr<device::Event> earlier_;
  std::unique_ptr<device::Event> done_;
};

class CclMessages final : public CclExchange {
 public:
  CclMessages(ncclComm_t communicator, device::Device& device, std::vector<Message> sends,
              std::vector<Message> receives)
      : CclExchange(communicator, device), sends_(std::move(sends)), receives_(std::move(receives)) {}

  void run(device::Stream& stream) override {
    Group group;
    for (const Message& message : receives_) {
      if (message.bytes == 0) continue;
      CCL_CALL(ncclRecv, message.data, message.bytes, ncclInt8, message.peer, communicator(), native(stream));
    }
    for (const Message& message : sends_) {
      if (message.bytes == 0) continue;
      CCL_CALL(ncclSend, message.data, message.bytes, ncclInt8, message.peer, communicator(), native(stream));
    }
    group.finish();
  }

 private:
  std::vector<Message> sends_;
  std::vector<Message> receives_;
};

/// The operations for which the library has a call.
class CclCollective final : public CclExchange {
 public:
  CclCollective(ncclComm_t communicator, device::Device& device, const Collective& collective)
      : CclExchange(communicator, device),
        collective_(collective),
        elements_(native(collective.type, collective.shape.count)) {
    if (!collective.description().reduces) return;
    if (collective.reduction != Reduction::premulsum) {
      reduction_ = native(collective.reduction, collective.type);
      return;
    }
    with_element(collective.type, [&](auto zero) {
      decltype(zero) factor = zero;
      factor = static_cast<decltype(zero)>(2.0F);
      CCL_CALL(ncclRedOpCreatePreMulSum, &reduction_, &factor, elements_.type, ncclScalarHostImmediate, communicator);
    });
    owned_ = true;
  }
  CclCollective(CclCollective&&) = delete;
  ~CclCollective() override {
    if (owned_) (void)CCL_FUNCTION(ncclRedOpDestroy)(reduction_, communicator());
  }

  [[nodiscard]] static bool has(Operation operation) {
    switch (operation) {
      case Operation::broadcast:
      case Operation::reduce:
      case Operation::allreduce:
      case Operation::reduce_scatter:
      case Operation::allgather:
        return true;
#if COMMLENS_CCL_HAS_ALLTOALL
      case Operation::alltoall:
      case Operation::gather:
      case Operation::scatter:
        return CCL_FUNCTION(ncclAlltoAll) != nullptr;
#endif
      default:
        return false;
    }
  }

  void run(device::Stream& stream) override {
    if (elements_.count == 0) return;
    const auto& [type, count] = elements_;
    const int root = collective_.shape.root;
    const void* input = collective_.input;
    void* output = collective_.output;
    switch (collective_.operation) {
      case Operation::broadcast:
        CCL_CALL(ncclBroadcast, input, output, count, type, root, communicator(), native(stream));
        return;
      case Operation::reduce:
        CCL_CALL(ncclReduce, input, output, count, type, reduction_, root, communicator(), native(stream));
        return;
      case Operation::allreduce:
        CCL_CALL(ncclAllReduce, input, output, count, type, reduction_, communicator(), native(stream));
        return;
      case Operation::reduce_scatter:
        CCL_CALL(ncclReduceScatter, input, output, count, type, reduction_, communicator(), native(stream));
        return;
      case Operation::allgather:
        CCL_CALL(ncclAllGather, input, output, count, type, communicator(), native(stream));
        return;
#if COMMLENS_CCL_HAS_ALLTOALL
      case Operation::alltoall:
        CCL_CALL(ncclAlltoAll, input, output, count, type, communicator(), native(stream));
        return;
      case Operation::gather:
        CCL_CALL(ncclGather, input, output, count, type, root, communicator(), native(stream));
        return;
      case Operation::scatter:
        CCL_CALL(ncclScatter, input, output, count, type, root, communicator(), native(stream));
        return;
#endif
      default:
        return;
    }
  }

 private:
  Collective collective_;
  Elements elements_;
  ncclRedOp_t reduction_ = ncclSum;
  bool owned_ = false;
};

/// The library has no barrier, but no rank can have a sum before all ranks have arrived.
class CclBarrier final : public CclExchange {
 public:
  CclBarrier(ncclComm_t communicator, device::Device& device)
      : CclExchange(communicator, device), token_(device.allocate(device::Memory::device, sizeof(int))) {}

  void run(device::Stream& stream) override {
    CCL_CALL(ncclAllReduce, token_.data(), token_.data(), 1, ncclInt32, ncclMax, communicator(), native(stream));
  }

 private:
  device::Buffer token_;
};

class CclTransport final : public Transport {
 public:
  CclTransport(Communicator communicator, device::Device& device) : ranks_(std::move(communicator)), device_(device) {
    ncclUniqueId id{};
    if (ranks_.rank() == 0) CCL_CALL(ncclGetUniqueId, &id);
    const std::string text = ranks_.broadcast(std::string(id.internal, sizeof id.internal));
    std::copy(text.begin(), text.end(), id.internal);
    int version = 0;
    CCL_CALL(ncclGetVersion, &version);
    const CclProfiler profiler(version);
    CCL_CALL(ncclCommInitRank, &communicator_, ranks_.size(), id, ranks_.rank());
    barrier_ = std::make_unique<CclBarrier>(communicator_, device_);
  }
  CclTransport(CclTransport&&) = delete;
  ~CclTransport() override {
    if (communicator_ != nullptr) (void)CCL_FUNCTION(ncclCommDestroy)(communicator_);
  }

  void send(const void* data, std::size_t bytes, int to, device::Stream& stream) override {
    if (bytes == 0) return;
    CCL_CALL(ncclSend, data, bytes, ncclInt8, to, communicator_, native(stream));
  }

  void receive(void* data, std::size_t bytes, int from, device::Stream& stream) override {
    if (bytes == 0) return;
    CCL_CALL(ncclRecv, data, bytes, ncclInt8, from, communicator_, native(stream));
  }

  std::unique_ptr<Exchange> exchange(std::vector<Message> sends, std::vector<Message> receives) override {
    return std::make_unique<CclMessages>(communicator_, device_, std::move(sends), std::move(receives));
  }

  void allreduce(const void* input, void* output, std::size_t count, DataType type, device::Stream& stream,
                 Reduction reduction) override {
    if (count == 0) return;
    const Elements elements = native(type, count);
    CCL_CALL(ncclAllReduce, input, output, elements.count, elements.type, native(reduction, type), communicator_,
             native(stream));
  }

  void alltoallv(const void* input, std::span<const Piece> sends, void* output, std::span<const Piece> receives,
                 device::Stream& stream) override {
    Group group;
    for (std::size_t rank = 0; rank < sends.size(); ++rank) {
      const int peer = static_cast<int>(rank);
      send(static_cast<const std::byte*>(input) + sends[rank].offset, sends[rank].bytes, peer, stream);
      receive(static_cast<std::byte*>(output) + receives[rank].offset, receives[rank].bytes, peer, stream);
    }
    group.finish();
  }

  [[nodiscard]] std::string unsupported(const Collective& collective, CallMode mode) const override {
    const std::string type(name(collective.type));
    if (mode == CallMode::persistent) return COMMLENS_CCL_NAME " has no persistent collectives";
    if (!sums(collective.type)) return COMMLENS_CCL_NAME " has no " + type + " before version 2.24";
    if (!collective.description().reduces) {
      return collective.operation == Operation::barrier ? "" : by_messages_unsupported(collective, mode);
    }
    if (!CclCollective::has(collective.operation)) {
      return COMMLENS_CCL_NAME " has no " + std::string(name(collective.operation));
    }
    if (collective.reduction > Reduction::premulsum) {
      return COMMLENS_CCL_NAME " has no reduction " + std::string(name(collective.reduction));
    }
    if (is_complex(collective.type) && collective.reduction != Reduction::sum) return "complex numbers are only summed";
    return {};
  }
  [[nodiscard]] InPlaceOffsets in_place(const Collective& collective) const override {
    return in_place_of_nccl(collective);
  }
  [[nodiscard]] bool sums(DataType type) const override {
    return has_small_floats || (type != DataType::f8e4m3 && type != DataType::f8e5m2);
  }
  std::unique_ptr<Exchange> collective(const Collective& collective, CallMode /*mode*/) override {
    if (collective.operation == Operation::barrier) return std::make_unique<CclBarrier>(communicator_, device_);
    // The own block is a message, too: a copy before the messages took a tenth of the time.
    if (!CclCollective::has(collective.operation)) return by_messages(*this, collective, OwnBlocks::messages);
    return std::make_unique<CclCollective>(communicator_, device_, collective);
  }

  void barrier(device::Stream& stream) override { barrier_->run(stream); }

  [[nodiscard]] bool enqueues() const override { return true; }
  [[nodiscard]] bool takes_host_memory() const override { return false; }
  [[nodiscard]] bool can_split() const override { return true; }
  std::unique_ptr<Transport> split(Communicator ranks) override {
    return std::make_unique<CclTransport>(std::move(ranks), device_);
  }

  /// Of memory that the library has made: it reaches no other.
  [[nodiscard]] std::vector<WindowCreation> windows(device::Memory /*memory*/) const override {
    return {WindowCreation::allocate};
  }
  std::unique_ptr<Window> window(WindowCreation /*creation*/, void* /*data*/, std::size_t bytes) override {
    return make_ccl_window(communicator_, ranks_, device_, bytes);
  }

 private:
  Communicator ranks_;
  device::Device& device_;
  ncclComm_t communicator_ = nullptr;
  std::unique_ptr<CclBarrier> barrier_;
};

std::string ccl_unsupported(const Setup& setup) {
  // NCCL would report a shared GPU only during collective initialization.
  std::string reason = shared_gpu(setup, COMMLENS_CCL_NAME);  // collective: every rank asks
  if (!device::on_gpu(setup.memory)) {
    reason = std::string(COMMLENS_CCL_NAME " works on device or managed memory, not on ") +
             std::string(name(setup.memory)) + " memory";
  } else if (ccl_library() == nullptr) {
    reason = std::string(COMMLENS_CCL_FILE " cannot be loaded (") + dlerror() + "): set LD_LIBRARY_PATH";
  }
  return reason;
}

std::vector<std::pair<std::string, std::string>> versions() {
  int version = 0;
  const CclLibrary asked = load_ccl();  // and unloaded again: not every start uses it
  const auto get = asked ? reinterpret_cast<decltype(&ncclGetVersion)>(dlsym(asked.get(), "ncclGetVersion")) : nullptr;
  if (get == nullptr || get(&version) != ncclSuccess) return {};
  return {{"ccl", COMMLENS_CCL_NAME " " + std::to_string(version / 10000) + "." +
                      std::to_string(version % 10000 / 100) + "." + std::to_string(version % 100)}};
}

const Registration ccl_registration(3, {.name = "ccl",
                                        .description = COMMLENS_CCL_NAME " on a stream of the GPU",
                                        .unsupported = ccl_unsupported,
                                        .make = [](const Setup& setup) -> std::unique_ptr<Transport> {
                                          return std::make_unique<CclTransport>(
                                              Communicator(setup.communicator.handle()), setup.device);
                                        },
                                        .versions = versions});

}  // namespace

}  // namespace commlens::transport

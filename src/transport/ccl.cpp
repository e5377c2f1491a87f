// The transport `ccl`: NCCL, or RCCL, which has the same interface. Every rank needs a GPU of its own.
//
// Operations are enqueued on the caller's stream, which orders them, and return immediately. Between start() and
// finish() an exchange is on a stream of its own, synchronized with the caller's by events, so that other work can
// overlap with it. Where nothing does, run() saves the events and the changes of streams, which cost more than a small
// message.
#include "device/gpu/ccl.hpp"

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
#include "device/gpu/check.hpp"
#include "transport/activity.hpp"
#include "transport/ccl_profiler.hpp"
#include "transport/communicator.hpp"
#include "transport/transport.hpp"

namespace commlens::transport {

namespace {

const Call ccl_enqueue_call{"a call of the ccl library"};

/// The library, while it lives; null where there is none. It is loaded when it is first used and not linked with: each
/// library that a process has loaded makes a CUDA-aware MPI slower with buffers in host memory.
using Library = std::unique_ptr<void, decltype([](void* library) { dlclose(library); })>;
Library load() { return Library(dlopen(COMMLENS_CCL_FILE, RTLD_NOW | RTLD_LOCAL)); }

void* library() {
  static void* const loaded = load().release();
  return loaded;
}

/// One that was preloaded comes first.
void* address_of(const char* function) {
  void* preloaded = dlsym(RTLD_DEFAULT, function);
  return preloaded != nullptr ? preloaded : dlsym(library(), function);
}

#define CCL_FUNCTION(function)                                                                  \
  ([] {                                                                                         \
    static const auto address = reinterpret_cast<decltype(&(function))>(address_of(#function)); \
    return address;                                                                             \
  }())

void check_ccl(ncclResult_t status, const char* call, ncclComm_t communicator = nullptr) {
  if (status == ncclSuccess) return;
  const char* detail = CCL_FUNCTION(ncclGetLastError)(communicator);
  throw Error(std::string(call) + " of " COMMLENS_CCL_NAME ": " + CCL_FUNCTION(ncclGetErrorString)(status) +
              (detail != nullptr && *detail != '\0' ? std::string(" (") + detail + ")" : std::string()));
}

#define CCL_CALL(function, ...)                                \
  do {                                                         \
    const InCall in_call(ccl_enqueue_call);                    \
    check_ccl(CCL_FUNCTION(function)(__VA_ARGS__), #function); \
  } while (false)

struct Elements {
  ncclDataType_t type;
  std::size_t count;
};

/// The library has no complex types; a sum of complex numbers is a sum of twice as many real ones.
Elements native(DataType type, std::size_t count) {
  return {entry_of(std::array{ncclInt32, ncclFloat32, ncclFloat64, ncclFloat32, ncclFloat64}, type),
          components(type) * count};
}

ncclRedOp_t native(Reduction reduction, DataType type) {
  require_sum_of_complex(reduction, type);
  return entry_of(std::array{ncclSum, ncclProd, ncclMin, ncclMax}, reduction);
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

class CclExchange final : public Exchange {
 public:
  CclExchange(ncclComm_t communicator, device::Device& device, std::vector<Message> sends,
              std::vector<Message> receives)
      : communicator_(communicator),
        sends_(std::move(sends)),
        receives_(std::move(receives)),
        stream_(device.concurrent_stream(device::Memory::device, device::Priority::high)),
        earlier_(device.event(device::Memory::device)),
        done_(device.event(device::Memory::device)) {}

  void start(device::Stream& stream) override {
    stream.record(*earlier_);
    stream_->wait_for(*earlier_);
    run(*stream_);
    stream_->record(*done_);
  }

  void finish(device::Stream& stream) override { stream.wait_for(*done_); }

  void run(device::Stream& stream) override {
    Group group;
    for (const Message& message : receives_) {
      if (message.bytes == 0) continue;
      CCL_CALL(ncclRecv, message.data, message.bytes, ncclInt8, message.peer, communicator_, native(stream));
    }
    for (const Message& message : sends_) {
      if (message.bytes == 0) continue;
      CCL_CALL(ncclSend, message.data, message.bytes, ncclInt8, message.peer, communicator_, native(stream));
    }
    group.finish();
  }

 private:
  ncclComm_t communicator_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::unique_ptr<device::Stream> stream_;
  std::unique_ptr<device::Event> earlier_;
  std::unique_ptr<device::Event> done_;
};

class CclTransport final : public Transport {
 public:
  CclTransport(const Communicator& communicator, device::Device& device)
      : device_(device), token_(device_.allocate(device::Memory::device, sizeof(int))) {
    ncclUniqueId id{};
    if (communicator.rank() == 0) CCL_CALL(ncclGetUniqueId, &id);
    const std::string text = communicator.broadcast(std::string(id.internal, sizeof id.internal));
    std::copy(text.begin(), text.end(), id.internal);
    int version = 0;
    CCL_CALL(ncclGetVersion, &version);
    const CclProfiler profiler(version);
    CCL_CALL(ncclCommInitRank, &communicator_, communicator.size(), id, communicator.rank());
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
    return std::make_unique<CclExchange>(communicator_, device_, std::move(sends), std::move(receives));
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

  void broadcast(void* data, std::size_t bytes, int root, device::Stream& stream) override {
    if (bytes == 0) return;
    CCL_CALL(ncclBroadcast, data, data, bytes, ncclInt8, root, communicator_, native(stream));
  }

  /// The library has no barrier, but no rank can have a sum before all ranks have arrived.
  void barrier(device::Stream& stream) override {
    CCL_CALL(ncclAllReduce, token_.data(), token_.data(), 1, ncclInt32, ncclMax, communicator_, native(stream));
  }

  [[nodiscard]] bool enqueues() const override { return true; }
  [[nodiscard]] bool takes_host_memory() const override { return false; }
  [[nodiscard]] bool can_split() const override { return true; }
  std::unique_ptr<Transport> split(Communicator ranks) override {
    return std::make_unique<CclTransport>(ranks, device_);
  }

 private:
  device::Device& device_;
  device::Buffer token_;
  ncclComm_t communicator_ = nullptr;
};

std::string unsupported(const Setup& setup) {
  // NCCL would report a shared GPU only during collective initialization.
  std::string reason = shared_gpu(setup, COMMLENS_CCL_NAME);  // collective: every rank asks
  if (!device::on_gpu(setup.memory)) {
    reason = std::string(COMMLENS_CCL_NAME " works on device or managed memory, not on ") +
             std::string(name(setup.memory)) + " memory";
  } else if (library() == nullptr) {
    reason = std::string(COMMLENS_CCL_FILE " cannot be loaded (") + dlerror() + "): set LD_LIBRARY_PATH";
  }
  return reason;
}

std::vector<std::pair<std::string, std::string>> versions() {
  int version = 0;
  const Library asked = load();  // and unloaded again: not every start uses it
  const auto get = asked ? reinterpret_cast<decltype(&ncclGetVersion)>(dlsym(asked.get(), "ncclGetVersion")) : nullptr;
  if (get == nullptr || get(&version) != ncclSuccess) return {};
  return {{"ccl", COMMLENS_CCL_NAME " " + std::to_string(version / 10000) + "." +
                      std::to_string(version % 10000 / 100) + "." + std::to_string(version % 100)}};
}

const Registration registration(3, {.name = "ccl",
                                    .description = COMMLENS_CCL_NAME " on a stream of the GPU",
                                    .unsupported = unsupported,
                                    .make = [](const Setup& setup) -> std::unique_ptr<Transport> {
                                      return std::make_unique<CclTransport>(setup.communicator, setup.device);
                                    },
                                    .versions = versions});

}  // namespace

}  // namespace commlens::transport

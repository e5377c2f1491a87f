// The GPU backend: memory, streams and events of one GPU, written once for CUDA and HIP (api.hpp).
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/blas.hpp"
#include "device/device.hpp"
#include "device/gpu/check.hpp"
#include "device/gpu/libraries.hpp"
#include "device/host/host_stream.hpp"

namespace commlens::device {

namespace gpu {
namespace {

/// Makes a GPU the current one of the thread, and restores the previous one.
class Current {
 public:
  explicit Current(int ordinal) {
    GPU_CALL(GetDevice, &before_);
    if (ordinal != before_) GPU_CALL(SetDevice, ordinal);
  }
  Current(Current&&) = delete;
  ~Current() { (void)GPU_NAME(SetDevice)(before_); }

 private:
  int before_ = 0;
};

class GpuEvent final : public Event {
 public:
  GpuEvent() { GPU_CALL(EventCreate, &event_); }
  GpuEvent(GpuEvent&&) = delete;
  ~GpuEvent() override { (void)GPU_NAME(EventDestroy)(event_); }

  void wait() override { GPU_CALL(EventSynchronize, event_); }

  double seconds_since(Event& earlier) override {
    auto& other = dynamic_cast<GpuEvent&>(earlier);
    other.wait();
    wait();
    float milliseconds = 0;
    GPU_CALL(EventElapsedTime, &milliseconds, other.event_, event_);
    return milliseconds * 1e-3;
  }

  [[nodiscard]] GPU_NAME(Event_t) native() const { return event_; }

 private:
  GPU_NAME(Event_t) event_ {};
};

class GpuGraph final : public Graph {
 public:
  explicit GpuGraph(GPU_NAME(Graph_t) recorded) { GPU_CALL(GraphInstantiateWithFlags, &graph_, recorded, 0); }
  GpuGraph(GpuGraph&&) = delete;
  ~GpuGraph() override { (void)GPU_NAME(GraphExecDestroy)(graph_); }

  void launch(Stream& stream) override { GPU_CALL(GraphLaunch, graph_, static_cast<gpuStream_t>(stream.native())); }

 private:
  GPU_NAME(GraphExec_t) graph_ {};
};

class GpuStream final : public Stream {
 public:
  explicit GpuStream(Priority priority) {
    int least = 0;
    int greatest = 0;
    GPU_CALL(DeviceGetStreamPriorityRange, &least, &greatest);
    GPU_CALL(StreamCreateWithPriority, &stream_, GPU_NAME(StreamNonBlocking),
             priority == Priority::high ? greatest : least);
  }
  GpuStream(GpuStream&&) = delete;
  ~GpuStream() override {
    // After an error the queue may wait for a rank that has ended, and nobody needs its results any more.
    if (std::uncaught_exceptions() == 0) (void)GPU_NAME(StreamSynchronize)(stream_);
    (void)GPU_NAME(StreamDestroy)(stream_);
  }

  void wait() override {
    if (!busy_) return;  // saves a microsecond per message: the cost of the call
    GPU_CALL(StreamSynchronize, stream_);
    busy_ = false;
  }
  [[nodiscard]] bool complete() override {
    if (busy_) {
      const auto status = GPU_NAME(StreamQuery)(stream_);
      if (status == GPU_NAME(ErrorNotReady)) {
        (void)gpuGetLastError();  // it is no error
        return false;
      }
      gpu::check(status, COMMLENS_GPU_TEXT(GPU_NAME(StreamQuery)));
      busy_ = false;
    }
    return true;
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    busy_ = true;
    GPU_CALL(MemcpyAsync, to, from, bytes, GPU_NAME(MemcpyDefault), stream_);
  }

  void fill(void* data, unsigned char value, std::size_t bytes) override {
    if (bytes == 0) return;
    busy_ = true;
    GPU_CALL(MemsetAsync, data, value, bytes, stream_);
  }

  void enqueue(std::function<void()> work) override {
    busy_ = true;
    auto owned = std::make_unique<std::function<void()>>(std::move(work));
    GPU_CALL(LaunchHostFunc, stream_, &GpuStream::call, owned.get());
    (void)owned.release();  // call() owns it now
  }

  void record(Event& event) override {
    busy_ = true;
    GPU_CALL(EventRecord, dynamic_cast<GpuEvent&>(event).native(), stream_);
  }

  void wait_for(Event& event) override {
    busy_ = true;
    GPU_CALL(StreamWaitEvent, stream_, dynamic_cast<GpuEvent&>(event).native(), 0);
  }

  [[nodiscard]] bool on_gpu() const override { return true; }

  [[nodiscard]] std::unique_ptr<Graph> capture(const std::function<void()>& work) override {
    GPU_CALL(StreamBeginCapture, stream_, GPU_NAME(StreamCaptureModeThreadLocal));
    GPU_NAME(Graph_t) recorded{};
    try {
      work();
    } catch (...) {
      (void)GPU_NAME(StreamEndCapture)(stream_, &recorded);  // otherwise the stream could not be used for anything else
      (void)GPU_NAME(GraphDestroy)(recorded);
      throw;
    }
    GPU_CALL(StreamEndCapture, stream_, &recorded);
    const std::unique_ptr<std::remove_pointer_t<GPU_NAME(Graph_t)>, decltype(&destroy)> owned(recorded, &destroy);
    return std::make_unique<GpuGraph>(recorded);
  }

  void* native() override {
    busy_ = true;
    return stream_;
  }

 private:
  static void destroy(GPU_NAME(Graph_t) graph) { (void)GPU_NAME(GraphDestroy)(graph); }

  static void call(void* work) {
    const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(work));
    (*owned)();
  }

  gpuStream_t stream_{};
};

std::string pci_address(int ordinal) {
  char text[32] = {};
  GPU_CALL(DeviceGetPCIBusId, text, sizeof text, ordinal);
  std::string address(text);
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return address;
}

/// The GPU's uuid; if the runtime does not know it, its PCI address, which is the same in all processes of a node, too.
std::string unique_name(const gpuDeviceProperties& properties, const std::string& pci) {
  const std::string_view uuid = gpuUuid(properties);
  if (uuid.empty()) return "PCI-" + pci;
  std::string text = "GPU-";
  for (const char byte : uuid) {
    char hexadecimal[3];
    std::snprintf(hexadecimal, sizeof hexadecimal, "%02x", static_cast<unsigned char>(byte));
    text += hexadecimal;
  }
  return text;
}

GpuProperties properties_of(int ordinal) {
  gpuDeviceProperties properties{};
  GPU_CALL(GetDeviceProperties, &properties, ordinal);
  const std::string pci = pci_address(ordinal);
  return {.ordinal = ordinal,
          .name = properties.name,
          .uuid = unique_name(properties, pci),
          .pci = pci,
          .memory_bytes = properties.totalGlobalMem,
          .power_limit = power_limit_of(pci)};
}

class GpuDevice final : public Device {
 public:
  explicit GpuDevice(int ordinal) : properties_(properties_of(ordinal)) {}

  [[nodiscard]] bool has(Memory /*memory*/) const override { return true; }

  [[nodiscard]] std::size_t available(Memory memory) const override {
    if (!on_gpu(memory)) return host::available();
    const Current current(properties_.ordinal);
    std::size_t free = 0;
    std::size_t total = 0;
    GPU_CALL(MemGetInfo, &free, &total);
    return free;
  }

  [[nodiscard]] Buffer allocate(Memory memory, std::size_t bytes) override {
    const Current current(properties_.ordinal);
    void* data = nullptr;
    const std::size_t some = std::max<std::size_t>(bytes, 1);  // an empty buffer has an address, too
    switch (memory) {
      case Memory::host:
        return host::allocate(bytes);
      case Memory::pinned:
        GPU_CALL(HostMalloc, &data, some);
        return {data, bytes, memory, [](void* pointer, std::size_t) noexcept { (void)GPU_NAME(HostFree)(pointer); }};
      case Memory::device:
        GPU_CALL(Malloc, &data, some);
        break;
      case Memory::managed:
        GPU_CALL(MallocManaged, &data, some, GPU_NAME(MemAttachGlobal));
        break;
    }
    return {data, bytes, memory, [](void* pointer, std::size_t) noexcept { (void)GPU_NAME(Free)(pointer); }};
  }

  [[nodiscard]] std::unique_ptr<Stream> stream(Memory memory) override {
    if (!on_gpu(memory)) return host::make_lazy_stream();
    return concurrent_stream(memory, Priority::normal);
  }

  [[nodiscard]] std::unique_ptr<Stream> concurrent_stream(Memory memory, Priority priority) override {
    if (!on_gpu(memory)) return host::make_concurrent_stream();
    const Current current(properties_.ordinal);
    return std::make_unique<GpuStream>(priority);
  }

  [[nodiscard]] std::unique_ptr<Blas> blas(Memory memory, int threads) override {
    if (!on_gpu(memory)) return host::make_blas(threads);
    const Current current(properties_.ordinal);
    return make_blas();
  }

  [[nodiscard]] std::unique_ptr<Fft> fft(Memory memory, const FftShape& shape) override {
    if (!on_gpu(memory)) return host::make_fft(shape);
    const Current current(properties_.ordinal);
    return make_fft(shape);
  }

  [[nodiscard]] std::unique_ptr<Event> event(Memory memory) override {
    if (!on_gpu(memory)) return host::make_event();
    const Current current(properties_.ordinal);
    return std::make_unique<GpuEvent>();
  }

  [[nodiscard]] const GpuProperties* gpu() const override { return &properties_; }
  [[nodiscard]] std::optional<Clock> clock() const override { return clock_of(properties_.pci); }
  [[nodiscard]] std::vector<GpuProcess> processes() const override { return processes_of(properties_.pci); }

  void make_current() override {
    GPU_CALL(SetDevice, properties_.ordinal);
    GPU_CALL(Free, nullptr);  // creates the context now rather than with the first allocation
  }

  bool reach(const Device& peer) override {
    const int other = peer.gpu() != nullptr ? peer.gpu()->ordinal : -1;
    if (other < 0) return false;
    if (other == properties_.ordinal) return true;
    int possible = 0;
    GPU_CALL(DeviceCanAccessPeer, &possible, properties_.ordinal, other);
    if (possible == 0) return false;
    const Current current(properties_.ordinal);
    const GPU_NAME(Error_t) status = GPU_NAME(DeviceEnablePeerAccess)(other, 0);
    if (status == GPU_NAME(ErrorPeerAccessAlreadyEnabled)) {
      (void)gpuGetLastError();
    } else {
      check(status, "enabling peer access");
    }
    return true;
  }

 private:
  GpuProperties properties_;
};

std::string version_text(int version) {
  // CUDA: 1000 major + 10 minor. HIP: 10000000 major + 100000 minor + patch.
  if (version >= 10'000'000)
    return std::to_string(version / 10'000'000) + "." + std::to_string(version / 100'000 % 100);
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace
}  // namespace gpu

std::string_view backend() { return COMMLENS_GPU_BACKEND; }

int gpu_count() {
  int count = 0;
  if (GPU_NAME(GetDeviceCount)(&count) != GPU_NAME(Success)) {
    (void)gpuGetLastError();
    return 0;
  }
  return count;
}

std::vector<GpuProperties> gpus() {
  std::vector<GpuProperties> all;
  for (int ordinal = 0; ordinal < gpu_count(); ++ordinal) all.push_back(gpu::properties_of(ordinal));
  return all;
}

std::unique_ptr<Device> open_gpu(int ordinal) { return std::make_unique<gpu::GpuDevice>(ordinal); }

std::vector<std::pair<std::string, std::string>> gpu_versions() {
  int driver = 0;
  int runtime = 0;
  if (GPU_NAME(DriverGetVersion)(&driver) != GPU_NAME(Success) ||
      GPU_NAME(RuntimeGetVersion)(&runtime) != GPU_NAME(Success))
    return {};
  return {{"gpu_driver", gpu::version_text(driver)}, {"gpu_runtime", gpu::version_text(runtime)}};
}

}  // namespace commlens::device

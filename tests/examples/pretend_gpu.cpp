// A backend: two GPUs that are made of host memory. With it, everything that asks for device memory runs on a laptop.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "device/blas.hpp"
#include "device/device.hpp"
#include "device/fft.hpp"
#include "device/host/host_stream.hpp"

namespace commlens::device {
namespace {

class PretendGpu final : public Device {
 public:
  explicit PretendGpu(int ordinal)
      : properties_{.ordinal = ordinal,
                    .name = "Pretend GPU",
                    .uuid = "pretend-" + std::to_string(ordinal),
                    .pci = "0000:0" + std::to_string(ordinal) + ":00.0",
                    .memory_bytes = std::uint64_t{4} << 30,
                    .power_limit = PowerLimit{.watts = 500, .default_watts = 700}} {}

  [[nodiscard]] bool has(Memory /*memory*/) const override { return true; }
  [[nodiscard]] std::size_t available(Memory /*memory*/) const override { return host::available(); }
  [[nodiscard]] Buffer allocate(Memory memory, std::size_t bytes) override {
    void* data = std::aligned_alloc(4096, (bytes / 4096 + 1) * 4096);
    if (data == nullptr) throw Error("aligned_alloc: no " + std::to_string(bytes) + " bytes for a pretend GPU");
    return {data, bytes, memory, [](void* pointer, std::size_t) noexcept { std::free(pointer); }};
  }
  [[nodiscard]] std::unique_ptr<Stream> stream(Memory /*memory*/) override { return host::make_lazy_stream(); }
  [[nodiscard]] std::unique_ptr<Stream> concurrent_stream(Memory /*memory*/, Priority /*priority*/) override {
    return host::make_concurrent_stream();
  }
  [[nodiscard]] std::unique_ptr<Blas> blas(Memory /*memory*/, int threads) override { return host::make_blas(threads); }
  [[nodiscard]] std::unique_ptr<Fft> fft(Memory /*memory*/, const FftShape& shape) override {
    return host::make_fft(shape);
  }
  [[nodiscard]] std::unique_ptr<Event> event(Memory /*memory*/) override { return host::make_event(); }
  [[nodiscard]] const GpuProperties* gpu() const override { return &properties_; }
  [[nodiscard]] std::optional<Clock> clock() const override {
    return Clock{.MHz = 1410.0 - 10 * properties_.ordinal, .highest_MHz = 1980, .limits = {ClockLimit::power}};
  }
  void make_current() override {}
  bool reach(const Device& /*peer*/) override { return true; }

 private:
  GpuProperties properties_;
};

}  // namespace

std::string_view backend() { return "host"; }  // a real one says its name, which record.schema.json must know
int gpu_count() { return 2; }
std::unique_ptr<Device> open_gpu(int ordinal) { return std::make_unique<PretendGpu>(ordinal); }
std::vector<GpuProperties> gpus() { return {*PretendGpu(0).gpu(), *PretendGpu(1).gpu()}; }
std::vector<std::pair<std::string, std::string>> gpu_versions() { return {{"gpu_driver", "pretend"}}; }

}  // namespace commlens::device

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "device/blas.hpp"
#include "device/fft.hpp"
#include "device/host/host_stream.hpp"

namespace commlens::device {

namespace host {

Buffer allocate(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  // aligned_alloc needs a multiple of the alignment, and an empty buffer has an address, too.
  const std::size_t rounded = (bytes / page + 1) * page;
  void* data = std::aligned_alloc(page, rounded);
  if (data == nullptr) throw Error("aligned_alloc: no " + std::to_string(bytes) + " bytes of host memory");
  return {data, bytes, Memory::host, [](void* pointer) noexcept { std::free(pointer); }};
}

std::size_t available() {
  std::ifstream information("/proc/meminfo");
  std::string key;
  std::size_t kibibytes = 0;
  std::string unit;
  while (information >> key >> kibibytes >> unit) {
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  return static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

namespace {

class HostDevice final : public Device {
 public:
  [[nodiscard]] bool has(Memory memory) const override { return memory == Memory::host; }

  [[nodiscard]] std::size_t available(Memory memory) const override { return has(memory) ? host::available() : 0; }

  [[nodiscard]] Buffer allocate(Memory memory, std::size_t bytes) override {
    require(memory);
    return host::allocate(bytes);
  }

  [[nodiscard]] std::unique_ptr<Stream> stream(Memory memory) override {
    require(memory);
    return make_lazy_stream();
  }

  [[nodiscard]] std::unique_ptr<Stream> concurrent_stream(Memory memory, Priority /*priority*/) override {
    require(memory);
    return make_concurrent_stream();
  }

  [[nodiscard]] std::unique_ptr<Blas> blas(Memory memory, int threads) override {
    require(memory);
    return make_blas(threads);
  }

  [[nodiscard]] std::unique_ptr<Fft> fft(Memory memory, const FftShape& shape) override {
    require(memory);
    return make_fft(shape);
  }

  [[nodiscard]] std::unique_ptr<Event> event(Memory memory) override {
    require(memory);
    return make_event();
  }

  [[nodiscard]] const GpuProperties* gpu() const override { return nullptr; }

  void make_current() override {}

  bool reach(const Device& /*peer*/) override { return false; }

 private:
  void require(Memory memory) const {
    if (!has(memory)) throw Error(std::string(name(memory)) + " memory needs a GPU; this rank has none");
  }
};

}  // namespace
}  // namespace host

std::unique_ptr<Device> open_host() { return std::make_unique<host::HostDevice>(); }

}  // namespace commlens::device

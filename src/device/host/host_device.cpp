#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <string>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "base/error.hpp"
#include "device/blas.hpp"
#include "device/fft.hpp"
#include "device/host/host_stream.hpp"

namespace commlens::device {

namespace host {

namespace {

/// With a byte more, so that an empty buffer has an address, too.
std::size_t mapped_bytes(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes / page + 1) * page;
}

/// Tells AddressSanitizer (of GCC) whether accesses to the rest of a buffer's last page are allowed.
void allow_beyond([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] bool allowed) {
#ifdef __SANITIZE_ADDRESS__
  const auto change = allowed ? __asan_unpoison_memory_region : __asan_poison_memory_region;
  change(static_cast<std::byte*>(data) + bytes, mapped_bytes(bytes) - bytes);
#endif
}

}  // namespace

/// Mapped by itself and prefaulted. Where pages are faulted in one by one, or were used before, it takes longer to copy
/// messages between processes (docs/measuring.md).
Buffer allocate(std::size_t bytes) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
  void* data = mmap(nullptr, mapped_bytes(bytes), PROT_READ | PROT_WRITE, flags, -1, 0);
  if (data == MAP_FAILED) throw Error("mmap: no " + std::to_string(bytes) + " bytes of host memory");
  allow_beyond(data, bytes, false);
  return {data, bytes, Memory::host, [](void* pointer, std::size_t size) noexcept {
            allow_beyond(pointer, size, true);
            munmap(pointer, mapped_bytes(size));
          }};
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

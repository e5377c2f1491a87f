#include "transport/peer/gpu_window.hpp"

#include <type_traits>
#include <utility>

#include "device/gpu/launch.hpp"
#include "transport/peer/load_store_window.hpp"
#include "transport/peer/window_kernels.hpp"

namespace commlens::transport::peer {

namespace {

class GpuWindow final : public LoadStoreWindow {
 public:
  GpuWindow(const Communicator& communicator, device::Device& device, std::vector<std::byte*> parts,
            std::shared_ptr<const void> memory)
      : LoadStoreWindow(communicator, std::move(parts), std::move(memory)),
        stream_(device.stream(device::Memory::device)) {}

  void put(const void* data, std::size_t bytes, int target, std::size_t offset) override {
    const InCall call(window_call);
    stream_->copy(part(target) + offset, data, bytes);
  }
  void get(void* data, std::size_t bytes, int target, std::size_t offset) override {
    const InCall call(window_call);
    stream_->copy(data, part(target) + offset, bytes);
  }

  void accumulate(const void* data, std::size_t count, AtomicType type, int target) override {
    get_accumulate(data, nullptr, count, type, target);
  }
  void get_accumulate(const void* data, void* before, std::size_t count, AtomicType type, int target) override {
    const InCall call(window_call);
    with_element(type, [&](auto zero) {
      using Element = decltype(zero);
      launch(count, gpu::Add<Element>{reinterpret_cast<Element*>(part(target)), static_cast<const Element*>(data),
                                      static_cast<Element*>(before)});
    });
  }
  void fetch_and_add(const void* value, void* before, AtomicType type, int target) override {
    get_accumulate(value, before, 1, type, target);
  }
  void compare_and_swap(const void* value, const void* expected, void* before, AtomicType type, int target) override {
    const InCall call(window_call);
    with_element(type, [&](auto zero) {
      using Element = decltype(zero);
      if constexpr (std::is_integral_v<Element>) {
        launch(1, gpu::CompareAndSwap<Element>{reinterpret_cast<Element*>(part(target)),
                                               static_cast<const Element*>(value),
                                               static_cast<const Element*>(expected), static_cast<Element*>(before)});
      }
    });
  }

 private:
  void finish_operations() override { stream_->wait(); }

  template <class Function>
  void launch(std::size_t count, Function function) {
    if (count > 0) device::gpu::launch(stream_->native(), count, function, device::Traversal::forward);
  }

  std::unique_ptr<device::Stream> stream_;
};

}  // namespace

std::unique_ptr<Window> make_gpu_window(const Communicator& communicator, device::Device& device,
                                        std::vector<std::byte*> parts, std::shared_ptr<const void> memory) {
  return std::make_unique<GpuWindow>(communicator, device, std::move(parts), std::move(memory));
}

}  // namespace commlens::transport::peer

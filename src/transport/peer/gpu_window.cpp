#include "transport/peer/gpu_window.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "device/gpu/launch.hpp"
#include "transport/peer/load_store_window.hpp"

namespace commlens::transport::peer {

namespace {

/// Replaces an element by change(element) without anybody between them; returns what was there. GPUs exchange words, in
/// which the element may be a byte.
template <class Element, class Change>
__device__ Element replace(Element* place, Change change) {
  using Word = std::conditional_t<sizeof(Element) == 8, unsigned long long, unsigned>;
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(place);
  const std::uintptr_t offset = address % sizeof(Word);
  Word* const word = reinterpret_cast<Word*>(address - offset);
  Word seen = *static_cast<volatile Word*>(word);
  while (true) {
    Word wanted = seen;
    Element element;
    std::memcpy(&element, reinterpret_cast<const char*>(&seen) + offset, sizeof element);
    const Element changed = change(element);
    std::memcpy(reinterpret_cast<char*>(&wanted) + offset, &changed, sizeof changed);
    const Word found = atomicCAS_system(word, seen, wanted);
    if (found == seen) return element;
    seen = found;
  }
}

template <class Element>
__device__ Element add(Element* place, Element value) {
  if constexpr (sizeof(Element) == 1) {
    return replace(place, [value](Element element) { return static_cast<Element>(element + value); });
  } else if constexpr (std::is_same_v<Element, std::int64_t>) {
    return static_cast<Element>(
        atomicAdd_system(reinterpret_cast<unsigned long long*>(place), static_cast<unsigned long long>(value)));
  } else {
    return atomicAdd_system(place, value);
  }
}

/// `before`: where what was there goes, or nullptr.
template <class Element>
struct Add {
  Element* to;
  const Element* from;
  Element* before;
  __device__ void operator()(std::size_t i) const {
    const Element found = add(to + i, from[i]);
    if (before != nullptr) before[i] = found;
  }
};

template <class Element>
struct CompareAndSwap {
  Element* place;
  const Element* value;
  const Element* expected;
  Element* before;
  __device__ void operator()(std::size_t /*i*/) const {
    const Element given = *value;
    const Element old = *expected;
    *before = replace(place, [given, old](Element element) { return element == old ? given : element; });
  }
};

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
      launch(count, Add<Element>{reinterpret_cast<Element*>(part(target)), static_cast<const Element*>(data),
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
        launch(1, CompareAndSwap<Element>{reinterpret_cast<Element*>(part(target)), static_cast<const Element*>(value),
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

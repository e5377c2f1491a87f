#include "transport/peer/host_window.hpp"

#include <atomic>
#include <cstring>
#include <utility>

#include "transport/peer/load_store_window.hpp"
#include "transport/peer/waiting.hpp"

namespace commlens::transport::peer {

namespace {

/// Holds what makes operations on a part atomic.
class Change {
 public:
  explicit Change(std::atomic<bool>& changes) : changes_(changes) {
    wait_until([this] { return !changes_.exchange(true, std::memory_order_acquire); });
  }
  Change(Change&&) = delete;
  ~Change() { changes_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool>& changes_;
};

class HostWindow final : public LoadStoreWindow {
 public:
  HostWindow(const Communicator& communicator, std::vector<std::byte*> parts, std::shared_ptr<const void> memory)
      : LoadStoreWindow(communicator, std::move(parts), std::move(memory)) {}

  void put(const void* data, std::size_t bytes, int target, std::size_t offset) override {
    const InCall call(window_call);
    if (bytes > 0) std::memcpy(part(target) + offset, data, bytes);
  }
  void get(void* data, std::size_t bytes, int target, std::size_t offset) override {
    const InCall call(window_call);
    if (bytes > 0) std::memcpy(data, part(target) + offset, bytes);
  }

  void accumulate(const void* data, std::size_t count, AtomicType type, int target) override {
    const InCall call(window_call);
    const Change change(changes(target));
    add(data, count, type, target);
  }
  void get_accumulate(const void* data, void* before, std::size_t count, AtomicType type, int target) override {
    const InCall call(window_call);
    const Change change(changes(target));
    if (count > 0) std::memcpy(before, part(target), count * size_of(type));
    add(data, count, type, target);
  }
  void fetch_and_add(const void* value, void* before, AtomicType type, int target) override {
    get_accumulate(value, before, 1, type, target);
  }
  void compare_and_swap(const void* value, const void* expected, void* before, AtomicType type, int target) override {
    const InCall call(window_call);
    const Change change(changes(target));
    const std::size_t size = size_of(type);
    std::memcpy(before, part(target), size);
    if (std::memcmp(before, expected, size) == 0) std::memcpy(part(target), value, size);
  }

 private:
  /// They have when they return. Who sees the counter that a call stores next sees them, too.
  void finish_operations() override {}

  void add(const void* data, std::size_t count, AtomicType type, int target) const {
    with_element(type, [&](auto zero) {
      using Element = decltype(zero);
      const auto* from = static_cast<const Element*>(data);
      auto* to = reinterpret_cast<Element*>(part(target));
      for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Element>(to[i] + from[i]);
    });
  }
};

}  // namespace

std::unique_ptr<Window> make_host_window(const Communicator& communicator, std::vector<std::byte*> parts,
                                         std::shared_ptr<const void> memory) {
  return std::make_unique<HostWindow>(communicator, std::move(parts), std::move(memory));
}

}  // namespace commlens::transport::peer

#include "transport/peer/host_window.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "transport/activity.hpp"
#include "transport/peer/messages.hpp"
#include "transport/peer/rings.hpp"

namespace commlens::transport::peer {

namespace {

/// Of one rank, for one other.
struct PairFlags {
  std::atomic<std::uint64_t> posted{0};     ///< epochs that the other rank has opened for this one
  std::atomic<std::uint64_t> completed{0};  ///< epochs in which the other rank has accessed this one's part
};

/// Of one rank, in memory that all ranks share. A PairFlags for each rank follows.
struct alignas(128) WindowFlags {
  std::atomic<std::uint64_t> fences{0};           ///< that the rank has reached
  std::atomic<std::int32_t> holders{0};           ///< of the lock of its part: -1 if one holds it alone
  alignas(128) std::atomic<bool> changes{false};  ///< somebody is within an atomic operation on its part
};

template <class Condition>
void wait_until(Condition condition) {
  for (SpinWait wait; !condition(); wait.look_again()) {
  }
}

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

class HostWindow final : public Window {
 public:
  HostWindow(const Communicator& communicator, std::vector<std::byte*> parts, std::shared_ptr<const Arenas> memory)
      : rank_(communicator.rank()),
        ranks_(communicator.size()),
        memory_(std::move(memory)),
        parts_(std::move(parts)),
        flags_(share(communicator, sizeof(WindowFlags) + parts_.size() * sizeof(PairFlags), "flags of windows")),
        started_(parts_.size()),
        waited_(parts_.size()) {
    new (&flags(rank_)) WindowFlags;
    for (int other = 0; other < ranks_; ++other) new (&pair(rank_, other)) PairFlags;
    communicator.barrier();
  }

  [[nodiscard]] void* data() const override { return part(rank_); }

  void put(const void* data, std::size_t bytes, int target, std::size_t offset) override {
    const InCall call(peer_call);
    if (bytes > 0) std::memcpy(part(target) + offset, data, bytes);
  }
  void get(void* data, std::size_t bytes, int target, std::size_t offset) override {
    const InCall call(peer_call);
    if (bytes > 0) std::memcpy(data, part(target) + offset, bytes);
  }

  void accumulate(const void* data, std::size_t count, AtomicType type, int target) override {
    const InCall call(peer_call);
    const Change change(flags(target).changes);
    add(data, count, type, target);
  }
  void get_accumulate(const void* data, void* before, std::size_t count, AtomicType type, int target) override {
    const InCall call(peer_call);
    const Change change(flags(target).changes);
    if (count > 0) std::memcpy(before, part(target), count * size_of(type));
    add(data, count, type, target);
  }
  void fetch_and_add(const void* value, void* before, AtomicType type, int target) override {
    get_accumulate(value, before, 1, type, target);
  }
  void compare_and_swap(const void* value, const void* expected, void* before, AtomicType type, int target) override {
    const InCall call(peer_call);
    const Change change(flags(target).changes);
    const std::size_t size = size_of(type);
    std::memcpy(before, part(target), size);
    if (std::memcmp(before, expected, size) == 0) std::memcpy(part(target), value, size);
  }

  void fence() override {
    const InCall call(peer_call);
    const std::uint64_t number = flags(rank_).fences.load(std::memory_order_relaxed) + 1;
    flags(rank_).fences.store(number, std::memory_order_release);
    for (int other = 0; other < ranks_; ++other) {
      wait_until([&] { return flags(other).fences.load(std::memory_order_acquire) >= number; });
    }
  }

  void post() override { count(&PairFlags::posted); }
  void start() override { wait_for(&PairFlags::posted, started_); }
  void complete() override { count(&PairFlags::completed); }
  void wait() override { wait_for(&PairFlags::completed, waited_); }

  void lock(int target, bool exclusive) override {
    const InCall call(peer_call);
    auto& holders = flags(target).holders;
    wait_until([&] {
      std::int32_t current = holders.load(std::memory_order_relaxed);
      const bool is_free = exclusive ? current == 0 : current >= 0;
      return is_free && holders.compare_exchange_strong(current, exclusive ? -1 : current + 1,
                                                        std::memory_order_acquire, std::memory_order_relaxed);
    });
  }
  void unlock(int target) override {
    auto& holders = flags(target).holders;
    if (holders.load(std::memory_order_relaxed) < 0) {
      holders.store(0, std::memory_order_release);
    } else {
      holders.fetch_sub(1, std::memory_order_release);
    }
  }
  void lock_all() override {
    for (int target = 0; target < ranks_; ++target) lock(target, false);
  }
  void unlock_all() override {
    for (int target = 0; target < ranks_; ++target) unlock(target);
  }
  void flush(int /*target*/) override { std::atomic_thread_fence(std::memory_order_seq_cst); }
  void flush_local(int /*target*/) override {}  // an operation has read or written its buffers when it returns

 private:
  [[nodiscard]] std::byte* part(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] WindowFlags& flags(int of) const { return *reinterpret_cast<WindowFlags*>(flags_->of(of)); }
  [[nodiscard]] PairFlags& pair(int of, int other) const {
    return reinterpret_cast<PairFlags*>(flags_->of(of) + sizeof(WindowFlags))[other];
  }

  using Counter = std::atomic<std::uint64_t> PairFlags::*;
  /// At all other ranks.
  void count(Counter counter) const {
    const InCall call(peer_call);
    for (int other = 0; other < ranks_; ++other) {
      if (other != rank_) (pair(other, rank_).*counter).fetch_add(1, std::memory_order_release);
    }
  }
  /// Until all other ranks have counted once more here; `numbers` has what they had counted before.
  void wait_for(Counter counter, std::vector<std::uint64_t>& numbers) const {
    const InCall call(peer_call);
    for (int other = 0; other < ranks_; ++other) {
      if (other == rank_) continue;
      const std::uint64_t number = ++numbers[static_cast<std::size_t>(other)];
      wait_until([&] { return (pair(rank_, other).*counter).load(std::memory_order_acquire) >= number; });
    }
  }

  void add(const void* data, std::size_t count, AtomicType type, int target) const {
    with_element(type, [&](auto zero) {
      using Element = decltype(zero);
      const auto* from = static_cast<const Element*>(data);
      auto* to = reinterpret_cast<Element*>(part(target));
      for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Element>(to[i] + from[i]);
    });
  }

  int rank_;
  int ranks_;
  std::shared_ptr<const Arenas> memory_;
  std::vector<std::byte*> parts_;  ///< by rank
  std::unique_ptr<SharedMemory> flags_;
  std::vector<std::uint64_t> started_;  ///< by rank: epochs of access
  std::vector<std::uint64_t> waited_;   ///< by rank: epochs of exposure
};

}  // namespace

std::unique_ptr<Window> make_host_window(const Communicator& communicator, std::vector<std::byte*> parts,
                                         std::shared_ptr<const Arenas> memory) {
  return std::make_unique<HostWindow>(communicator, std::move(parts), std::move(memory));
}

}  // namespace commlens::transport::peer

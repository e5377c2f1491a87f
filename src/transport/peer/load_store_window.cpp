#include "transport/peer/load_store_window.hpp"

#include <new>
#include <utility>

#include "transport/peer/node_memory.hpp"
#include "transport/peer/waiting.hpp"

namespace commlens::transport::peer {

/// Of one rank, for one other.
struct LoadStoreWindow::PairFlags {
  std::atomic<std::uint64_t> posted{0};     ///< epochs that the other rank has opened for this one
  std::atomic<std::uint64_t> completed{0};  ///< epochs in which the other rank has accessed this one's part
};

/// Of one rank, in memory that all ranks share. A PairFlags for each rank follows.
struct alignas(128) LoadStoreWindow::Flags {
  std::atomic<std::uint64_t> fences{0};  ///< that the rank has reached
  std::atomic<std::int32_t> holders{0};  ///< of the lock of its part: -1 if one holds it alone
  alignas(128) std::atomic<bool> changes{false};
};

LoadStoreWindow::LoadStoreWindow(const Communicator& communicator, std::vector<std::byte*> parts,
                                 std::shared_ptr<const void> memory)
    : rank_(communicator.rank()),
      ranks_(communicator.size()),
      memory_(std::move(memory)),
      parts_(std::move(parts)),
      flags_(share(communicator, sizeof(Flags) + parts_.size() * sizeof(PairFlags), "flags of windows")),
      started_(parts_.size()),
      waited_(parts_.size()) {
  new (&flags(rank_)) Flags;
  for (int other = 0; other < ranks_; ++other) new (&pair(rank_, other)) PairFlags;
  communicator.barrier();
}

LoadStoreWindow::Flags& LoadStoreWindow::flags(int of) const { return *reinterpret_cast<Flags*>(flags_->of(of)); }
LoadStoreWindow::PairFlags& LoadStoreWindow::pair(int of, int other) const {
  return reinterpret_cast<PairFlags*>(flags_->of(of) + sizeof(Flags))[other];
}
std::atomic<bool>& LoadStoreWindow::changes(int of) const { return flags(of).changes; }

void LoadStoreWindow::fence() {
  const InCall call(window_call);
  finish_operations();
  const std::uint64_t number = flags(rank_).fences.load(std::memory_order_relaxed) + 1;
  flags(rank_).fences.store(number, std::memory_order_release);
  for (int other = 0; other < ranks_; ++other) {
    wait_until([&] { return flags(other).fences.load(std::memory_order_acquire) >= number; });
  }
}

void LoadStoreWindow::post() { count(&PairFlags::posted); }
void LoadStoreWindow::start() { wait_for(&PairFlags::posted, started_); }
void LoadStoreWindow::complete() {
  finish_operations();
  count(&PairFlags::completed);
}
void LoadStoreWindow::wait() { wait_for(&PairFlags::completed, waited_); }

void LoadStoreWindow::lock(int target, bool exclusive) {
  const InCall call(window_call);
  auto& holders = flags(target).holders;
  wait_until([&] {
    std::int32_t current = holders.load(std::memory_order_relaxed);
    const bool is_free = exclusive ? current == 0 : current >= 0;
    return is_free && holders.compare_exchange_strong(current, exclusive ? -1 : current + 1, std::memory_order_acquire,
                                                      std::memory_order_relaxed);
  });
}
void LoadStoreWindow::unlock(int target) {
  finish_operations();
  auto& holders = flags(target).holders;
  if (holders.load(std::memory_order_relaxed) < 0) {
    holders.store(0, std::memory_order_release);
  } else {
    holders.fetch_sub(1, std::memory_order_release);
  }
}
void LoadStoreWindow::lock_all() {
  for (int target = 0; target < ranks_; ++target) lock(target, false);
}
void LoadStoreWindow::unlock_all() {
  for (int target = 0; target < ranks_; ++target) unlock(target);
}
void LoadStoreWindow::flush(int /*target*/) {
  finish_operations();
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
void LoadStoreWindow::flush_local(int /*target*/) { finish_operations(); }

/// At all other ranks.
void LoadStoreWindow::count(Counter counter) const {
  const InCall call(window_call);
  for (int other = 0; other < ranks_; ++other) {
    if (other != rank_) (pair(other, rank_).*counter).fetch_add(1, std::memory_order_release);
  }
}
/// Until all other ranks have counted once more here; `numbers` has what they had counted before.
void LoadStoreWindow::wait_for(Counter counter, std::vector<std::uint64_t>& numbers) const {
  const InCall call(window_call);
  for (int other = 0; other < ranks_; ++other) {
    if (other == rank_) continue;
    const std::uint64_t number = ++numbers[static_cast<std::size_t>(other)];
    wait_until([&] { return (pair(rank_, other).*counter).load(std::memory_order_acquire) >= number; });
  }
}

}  // namespace commlens::transport::peer

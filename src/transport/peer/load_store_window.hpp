// Windows in which a rank loads and stores in the parts of the other ranks by itself. All have the same
// synchronization: counters in host memory that the ranks share. The operations differ, with the memory that they work
// on.
//
// While a rank waits here for another one, it does not progress messages: none of the same transport may be under way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/activity.hpp"
#include "transport/communicator.hpp"
#include "transport/shared_memory.hpp"
#include "transport/window.hpp"

namespace commlens::transport::peer {

inline const Call window_call{"an operation on a window, by loads and stores"};

class LoadStoreWindow : public Window {
 public:
  [[nodiscard]] void* data() const final { return part(rank_); }
  void fence() final;
  void post() final;
  void start() final;
  void complete() final;
  void wait() final;
  void lock(int target, bool exclusive) final;
  void unlock(int target) final;
  void lock_all() final;
  void unlock_all() final;
  void flush(int target) final;
  void flush_local(int target) final;

 protected:
  /// Collective. `parts[r]` is where this rank finds the part of rank r. `memory` is kept for as long as the window.
  LoadStoreWindow(const Communicator& communicator, std::vector<std::byte*> parts, std::shared_ptr<const void> memory);

  [[nodiscard]] std::byte* part(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }
  /// True while a host is within an operation on the part of this rank that excludes others.
  [[nodiscard]] std::atomic<bool>& changes(int of) const;

 private:
  struct PairFlags;
  struct Flags;
  using Counter = std::atomic<std::uint64_t> PairFlags::*;

  /// Returns once the operations of this rank have ended.
  virtual void finish_operations() = 0;

  [[nodiscard]] Flags& flags(int of) const;
  [[nodiscard]] PairFlags& pair(int of, int other) const;
  void count(Counter counter) const;
  void wait_for(Counter counter, std::vector<std::uint64_t>& numbers) const;

  int rank_;
  int ranks_;
  std::shared_ptr<const void> memory_;
  std::vector<std::byte*> parts_;
  std::unique_ptr<SharedMemory> flags_;
  std::vector<std::uint64_t> started_;  ///< by rank: epochs of access
  std::vector<std::uint64_t> waited_;   ///< by rank: epochs of exposure
};

}  // namespace commlens::transport::peer

// Bytes and messages by peer: a rank of MPI_COMM_WORLD.
#pragma once

#include <atomic>
#include <cstdint>

#include "counters.hpp"
#include "mpi_library.hpp"

namespace commlens::profile {

/// The ranks of another communicator are translated once and kept in memory of fixed size.
class Peers {
 public:
  static constexpr int max_ranks = 16384;  // 16 bytes each, together 256 KiB
  static constexpr int none = -1;

  void start(MPI_Comm world, int size);
  [[nodiscard]] bool is_enabled() const { return bytes_ != nullptr; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] std::uint64_t bytes(int peer) const { return bytes_[peer].load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t messages(int peer) const { return messages_[peer].load(std::memory_order_relaxed); }

  /// The rank in MPI_COMM_WORLD; `none` for MPI_PROC_NULL and processes outside it.
  int of(MPI_Comm communicator, int rank);
  int of_window(MPI_Win window, int rank);
  void add(Adder adder, int peer, std::uint64_t bytes) {
    if (!is_enabled() || peer < 0 || peer >= size_) return;
    adder.add(bytes_[peer], bytes);
    adder.add(messages_[peer], 1);
  }
  void forget_groups();

 private:
  struct Translation {
    std::uintptr_t handle;
    bool is_window;
    int first;  // in ranks_
    int count;
  };
  static constexpr int max_translations = 256;
  static constexpr int capacity = 65536;  // ranks, 256 KiB

  using GroupOf = MPI_Group (*)(std::uintptr_t handle);
  int translated(std::uintptr_t handle, bool is_window, int rank, GroupOf group_of);
  [[nodiscard]] const Translation* find(std::uintptr_t handle, bool is_window) const;
  const Translation* translate(MPI_Group group, std::uintptr_t handle, bool is_window);

  MPI_Comm world_{};
  MPI_Group world_group_{};
  int size_ = 0;
  Count* bytes_ = nullptr;
  Count* messages_ = nullptr;
  int* ranks_ = nullptr;
  int used_ = 0;
  int translations_used_ = 0;
  Translation translations_[max_translations] = {};
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
};

}  // namespace commlens::profile

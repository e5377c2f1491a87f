// What the ranks of a communicator share for the transport `peer`: flags, rings and mailboxes; and their buffers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/communicator.hpp"
#include "transport/peer/rings.hpp"
#include "transport/shared_memory.hpp"

namespace commlens::transport::peer {

inline constexpr std::size_t mailbox_bytes = 8192;

/// Collective. `bytes` of this rank; throws Error on all ranks if one of them cannot have them.
std::unique_ptr<SharedMemory> share(const Communicator& communicator, std::size_t bytes, const std::string& purpose);

/// Of one rank, in its part of the shared memory. Its rings follow: one from each rank.
struct ControlBlock {
  alignas(128) std::atomic<std::uint64_t> phase{0};  ///< how many phases of collectives the rank has finished
  const std::byte* input = nullptr;                  ///< of the present collective, as the rank sees them
  const std::byte* output = nullptr;
  alignas(128) std::byte mailboxes[2][mailbox_bytes];  ///< used alternately
};

/// The control blocks and rings of the ranks of a communicator, all on one node.
class ControlBlocks {
 public:
  /// Collective. Throws Error on all ranks if one of them cannot share memory.
  explicit ControlBlocks(const Communicator& communicator);

  [[nodiscard]] ControlBlock& of(int rank) const { return *reinterpret_cast<ControlBlock*>(memory_->of(rank)); }
  [[nodiscard]] Ring& ring(int from, int to) const;

 private:
  std::unique_ptr<SharedMemory> memory_;
};

/// The buffers of all ranks of a communicator, which each rank finds at addresses of its own.
class Arenas {
 public:
  /// Collective. `bytes` of this rank. Throws Error on all ranks if one of them cannot have its part.
  Arenas(const Communicator& communicator, std::size_t bytes);

  [[nodiscard]] std::byte* part() const { return part_of(rank_); }
  [[nodiscard]] std::byte* part_of(int rank) const { return memory_->of(rank); }
  /// Whether `bytes` at `data` lie in this rank's part.
  [[nodiscard]] bool has(const void* data, std::size_t bytes) const;
  /// Where this rank finds what `rank` sees at `data`.
  [[nodiscard]] const std::byte* find(int rank, const std::byte* data) const;

 private:
  int rank_;
  std::size_t bytes_;
  std::unique_ptr<SharedMemory> memory_;
  std::vector<std::uintptr_t> begins_;  ///< of each part, as its own rank sees it
};

}  // namespace commlens::transport::peer

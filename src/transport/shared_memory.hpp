// Memory that the ranks of a node share: each rank has a part of it, and reaches the parts of all.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "transport/communicator.hpp"

namespace commlens::transport {

/// POSIX shared memory rather than MPI's (MPI_Win_allocate_shared): only loads and stores are needed, and a full
/// /dev/shm is an error when the memory is made, not a signal when it is used.
class SharedMemory {
 public:
  /// Collective over `node`, the ranks of one node. `bytes` of this rank, zeroed; a part begins on a page. nullptr on
  /// all ranks if one of them cannot have it; `problem` then says why.
  static std::unique_ptr<SharedMemory> make(const Communicator& node, std::size_t bytes, std::string& problem);

  SharedMemory(SharedMemory&&) = delete;
  ~SharedMemory();

  /// The part of a rank of `node`.
  [[nodiscard]] std::byte* of(int rank) const { return data_ + offsets_[static_cast<std::size_t>(rank)]; }

 private:
  SharedMemory() = default;
  [[nodiscard]] std::string open(const std::string& name, bool create);
  [[nodiscard]] std::string reserve(int rank) const;

  std::byte* data_ = nullptr;
  int descriptor_ = -1;               ///< while it is made
  std::vector<std::size_t> offsets_;  ///< of the parts; the last is the end of all
};

}  // namespace commlens::transport

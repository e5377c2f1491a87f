// Memory of GPUs that the GPUs of all ranks of a node reach (CUDA IPC, HIP IPC).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "transport/communicator.hpp"

namespace commlens::transport::peer {

class GpuMemory {
 public:
  /// What other GPUs store to: flags, while a kernel looks at them, or buffers.
  enum class Use { flags, buffers };

  /// Collective, also to destroy. `bytes` of this rank's GPU, which is the current one, zeroed. nullptr on all ranks if
  /// one of them cannot have it, or cannot reach that of another; `problem` then says why.
  static std::unique_ptr<GpuMemory> make(const Communicator& node, std::size_t bytes, Use use, std::string& problem);

  ~GpuMemory();

  /// The part of a rank of `node`, at an address of this rank's GPU.
  [[nodiscard]] std::byte* of(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }

 private:
  explicit GpuMemory(const Communicator& node);
  [[nodiscard]] std::string allocate(std::size_t bytes, Use use, std::string& handle);
  [[nodiscard]] std::string open(const std::vector<std::string>& handles);

  Communicator node_;
  std::vector<std::byte*> parts_;  ///< by rank; nullptr: not reached
};

}  // namespace commlens::transport::peer

#include "transport/peer/gpu_memory.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "device/gpu/check.hpp"

namespace commlens::transport::peer {

GpuMemory::GpuMemory(const Communicator& node)
    : node_(node.handle()), parts_(static_cast<std::size_t>(node.size()), nullptr) {}

std::unique_ptr<GpuMemory> GpuMemory::make(const Communicator& node, std::size_t bytes, Use use, std::string& problem) {
  std::unique_ptr<GpuMemory> memory(new GpuMemory(node));
  std::string handle;
  problem = node.first(memory->allocate(bytes, use, handle));
  if (!problem.empty()) return nullptr;
  problem = node.first(memory->open(node.gather(handle)));
  if (!problem.empty()) return nullptr;
  return memory;
}

/// What is wrong; else empty, and the handle by which others open it.
std::string GpuMemory::allocate(std::size_t bytes, Use use, std::string& handle) {
  // Smaller pieces share a page of the GPU, all of which would be exported.
  constexpr std::size_t page = std::size_t{2} << 20;
  const std::size_t whole = std::max((bytes + page - 1) / page, std::size_t{1}) * page;
  const auto rank = static_cast<std::size_t>(node_.rank());
  try {
    void* data = nullptr;
    device::gpu::check(use == Use::flags ? gpuMallocFlags(&data, whole) : GPU_NAME(Malloc)(&data, whole),
                       "allocating memory");
    parts_[rank] = static_cast<std::byte*>(data);
    GPU_CALL(MemsetAsync, data, 0, whole, nullptr);
    GPU_CALL(StreamSynchronize, nullptr);
    GPU_NAME(IpcMemHandle_t) exported{};
    GPU_CALL(IpcGetMemHandle, &exported, data);
    handle.assign(reinterpret_cast<const char*>(&exported), sizeof exported);
  } catch (const Error& error) {
    return "rank " + std::to_string(rank) + ": " + error.what();
  }
  return {};
}

std::string GpuMemory::open(const std::vector<std::string>& handles) {
  const auto self = static_cast<std::size_t>(node_.rank());
  for (std::size_t rank = 0; rank < handles.size(); ++rank) {
    if (rank == self) continue;
    try {
      GPU_NAME(IpcMemHandle_t) handle{};
      std::memcpy(&handle, handles[rank].data(), sizeof handle);
      void* data = nullptr;
      GPU_CALL(IpcOpenMemHandle, &data, handle, GPU_NAME(IpcMemLazyEnablePeerAccess));
      parts_[rank] = static_cast<std::byte*>(data);
    } catch (const Error& error) {
      return "the GPU of rank " + std::to_string(self) + " cannot reach that of rank " + std::to_string(rank) + ": " +
             error.what();
    }
  }
  return {};
}

/// Nobody may have memory open that its owner frees. After an error a kernel may wait for ever, and other ranks may not
/// come: the end of the process frees it then.
GpuMemory::~GpuMemory() {
  if (std::uncaught_exceptions() > 0) return;
  const auto self = static_cast<std::size_t>(node_.rank());
  (void)GPU_NAME(DeviceSynchronize)();
  for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
    if (rank != self && parts_[rank] != nullptr) (void)GPU_NAME(IpcCloseMemHandle)(parts_[rank]);
  }
  try {
    node_.barrier();
  } catch (const Error&) {
    return;
  }
  if (parts_[self] != nullptr) (void)GPU_NAME(Free)(parts_[self]);
}

}  // namespace commlens::transport::peer

#include "transport/ccl_window.hpp"

#include "base/error.hpp"

#if defined(COMMLENS_CUDA) && NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)

#include <nccl_device.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <vector>

#include "device/gpu/check.hpp"
#include "transport/ccl_library.hpp"
#include "transport/peer/gpu_window.hpp"

namespace commlens::transport {

namespace {

/// Memory of each rank, registered as a window. Collective, also to destroy.
class CclMemory {
 public:
  CclMemory(ncclComm_t communicator, const Communicator& ranks, std::size_t bytes)
      : communicator_(communicator), ranks_(ranks.handle()) {
    constexpr std::size_t unit = NCCL_WIN_REQUIRED_ALIGNMENT;
    const std::size_t whole = std::max((bytes + unit - 1) / unit, std::size_t{1}) * unit;
    CCL_CALL(ncclMemAlloc, &data_, whole);
    CCL_CALL(ncclCommWindowRegister, communicator_, data_, whole, &window_, NCCL_WIN_COLL_SYMMETRIC);
  }
  CclMemory(CclMemory&&) = delete;
  /// Nobody may access what its owner frees. After an error other ranks may not come: the end of the process frees it.
  ~CclMemory() {
    if (std::uncaught_exceptions() > 0) return;
    (void)GPU_NAME(DeviceSynchronize)();
    try {
      ranks_.barrier();
    } catch (const Error&) {
      return;
    }
    if (window_ != nullptr) (void)CCL_FUNCTION(ncclCommWindowDeregister)(communicator_, window_);
    (void)CCL_FUNCTION(ncclMemFree)(data_);
  }

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
  /// nullptr where the library registers the memory only for its own operations.
  [[nodiscard]] ncclWindow_t window() const { return window_; }

 private:
  ncclComm_t communicator_;
  Communicator ranks_;
  void* data_ = nullptr;
  ncclWindow_t window_ = nullptr;
};

/// Of the ranks whose GPUs reach each other by loads and stores. In C++ the header has two functions of this name.
ncclTeam_t (*team_function())(ncclComm_t) {
  return reinterpret_cast<ncclTeam_t (*)(ncclComm_t)>(address_in_ccl("ncclTeamLsa"));
}

/// By rank: only a kernel can ask.
__global__ void find_parts(ncclWindow_t window, int ranks, void** parts) {
  for (int rank = 0; rank < ranks; ++rank) parts[rank] = ncclGetLsaPointer(window, 0, rank);
}

std::vector<std::byte*> parts_of(ncclWindow_t window, int ranks, device::Device& device) {
  const auto number = static_cast<std::size_t>(ranks);
  const device::Buffer found = device.allocate(device::Memory::device, number * sizeof(void*));
  const auto stream = device.stream(device::Memory::device);
  find_parts<<<1, 1, 0, static_cast<gpuStream_t>(stream->native())>>>(window, ranks, found.as<void*>());
  device::gpu::check(gpuGetLastError(), "kernel launch");
  std::vector<std::byte*> parts(number);
  stream->copy(parts.data(), found.data(), found.bytes());
  stream->wait();
  return parts;
}

/// What a window is in the GPU's memory can change with the version. Throws Error.
void require_version() {
  int version = 0;
  CCL_CALL(ncclGetVersion, &version);
  if (version / 100 == NCCL_VERSION_CODE / 100) return;
  const auto text = [](int of) { return std::to_string(of / 10000) + "." + std::to_string(of % 10000 / 100); };
  throw Error("this program was built with NCCL " + text(NCCL_VERSION_CODE) + ", and NCCL " + text(version) +
              " is loaded: its windows need the same version");
}

}  // namespace

std::unique_ptr<Window> make_ccl_window(ncclComm_t communicator, const Communicator& ranks, device::Device& device,
                                        std::size_t bytes) {
  require_version();
  auto memory = std::make_shared<const CclMemory>(communicator, ranks, bytes);
  // With one rank, the kernel of parts_of() makes an illegal access (seen with NCCL 2.28.3).
  if (ranks.size() == 1) return peer::make_gpu_window(ranks, device, {memory->data()}, memory);
  std::string problem;
  if (memory->window() == nullptr) {
    problem = "NCCL shares no memory between these GPUs (NCCL_CUMEM_ENABLE, NCCL_WIN_ENABLE)";
  } else if (team_function()(communicator).nRanks < ranks.size()) {
    problem = "not all of these GPUs reach each other by loads and stores";
  }
  problem = ranks.first(problem);
  if (!problem.empty()) {
    memory.reset();  // by all ranks, and not by the exception
    throw Error(problem);
  }
  return peer::make_gpu_window(ranks, device, parts_of(memory->window(), ranks.size(), device), memory);
}

}  // namespace commlens::transport

#else

namespace commlens::transport {

std::unique_ptr<Window> make_ccl_window(ncclComm_t /*communicator*/, const Communicator& /*ranks*/,
                                        device::Device& /*device*/, std::size_t /*bytes*/) {
  throw Error("one-sided operations need a program that was built with NCCL 2.28 or newer");
}

}  // namespace commlens::transport

#endif

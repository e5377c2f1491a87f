// Windows of NCCL (ncclCommWindowRegister with NCCL_WIN_COLL_SYMMETRIC, and ncclGetLsaPointer of its device API, both
// from version 2.28 on): the GPUs of a communicator load and store in each other's parts.
#pragma once

#include <cstddef>
#include <memory>

#include "device/device.hpp"
#include "device/gpu/ccl.hpp"
#include "transport/communicator.hpp"
#include "transport/window.hpp"

namespace commlens::transport {

/// Collective. Of memory that the library makes. Throws Error where it can share none, unless all GPUs reach each other
/// by loads and stores, and where the build's or the loaded library has no such windows; RCCL has none.
std::unique_ptr<Window> make_ccl_window(ncclComm_t communicator, const Communicator& ranks, device::Device& device,
                                        std::size_t bytes);

}  // namespace commlens::transport

// Calls of NCCL, or RCCL, which is loaded when it is first used and not linked with: each library that a process has
// loaded makes a CUDA-aware MPI slower with buffers in host memory.
#pragma once

#include <dlfcn.h>

#include <memory>

#include "device/gpu/ccl.hpp"
#include "transport/activity.hpp"

/// ncclAlltoAll, ncclGather and ncclScatter came with version 2.28 of NCCL.
#define COMMLENS_CCL_HAS_ALLTOALL (NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0))

namespace commlens::transport {

inline const Call ccl_enqueue_call{"a call of the ccl library"};

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
/// The library, while it lives; null where there is none.
using CclLibrary = std::unique_ptr<void, CloseLibrary>;
CclLibrary load_ccl();

/// For the rest of the process; nullptr where there is none, and dlerror() says why.
void* ccl_library();

/// nullptr if the library does not have it. One that was preloaded comes first.
void* address_in_ccl(const char* function);

/// Throws Error unless it was successful.
void check_ccl(ncclResult_t status, const char* call);

}  // namespace commlens::transport

#define CCL_FUNCTION(function)                                                                   \
  ([] {                                                                                          \
    static const auto address =                                                                  \
        reinterpret_cast<decltype(&(function))>(commlens::transport::address_in_ccl(#function)); \
    return address;                                                                              \
  }())

#define CCL_CALL(function, ...)                                                     \
  do {                                                                              \
    const commlens::InCall in_call(commlens::transport::ccl_enqueue_call);          \
    commlens::transport::check_ccl(CCL_FUNCTION(function)(__VA_ARGS__), #function); \
  } while (false)

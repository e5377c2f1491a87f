// NCCL or RCCL, opened when it is first needed, and never linked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu.hpp"
#include "types.hpp"

namespace commlens::reroute {

using CclHandle = void*;  // ncclComm_t

struct CclId {
  char bytes[128];  // NCCL_UNIQUE_ID_BYTES
};

/// The functions, which return 0 for success. Types and operations are ints in C.
struct CclLibrary {
  int (*get_version)(int*);
  int (*get_unique_id)(CclId*);
  int (*init_rank)(CclHandle*, int ranks, CclId, int rank);
  int (*abort)(CclHandle);
  int (*get_async_error)(CclHandle, int*);
  const char* (*get_error_string)(int);
  int (*all_reduce)(const void*, void*, std::size_t, int, int, CclHandle, Stream);
  int (*reduce)(const void*, void*, std::size_t, int, int, int, CclHandle, Stream);
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, CclHandle, Stream);
  int (*broadcast)(const void*, void*, std::size_t, int, int, CclHandle, Stream);
  int (*all_gather)(const void*, void*, std::size_t, int, CclHandle, Stream);
  int (*send)(const void*, std::size_t, int, int, CclHandle, Stream);
  int (*recv)(void*, std::size_t, int, int, CclHandle, Stream);
  int (*group_start)();
  int (*group_end)();
  char name[64];  // "NCCL 2.28.3"; empty: not opened
};
extern constinit CclLibrary ccl;

/// Opens the library; false, and `disable` says why, where there is none that can be used.
bool open_ccl();

constexpr int ccl_bytes = static_cast<int>(CclType::uint8);

}  // namespace commlens::reroute

// NCCL, or RCCL, which has the same interface: for the transport `ccl`.
//
// COMMLENS_CUDA or COMMLENS_HIP is defined by the build, for files of a GPU build only.
#pragma once

#if defined(COMMLENS_CUDA)
#include <nccl.h>
#define COMMLENS_CCL_NAME "NCCL"
#define COMMLENS_CCL_FILE "libnccl.so.2"
#elif defined(COMMLENS_HIP)
#include <rccl/rccl.h>
#define COMMLENS_CCL_NAME "RCCL"
#define COMMLENS_CCL_FILE "librccl.so.1"
#endif

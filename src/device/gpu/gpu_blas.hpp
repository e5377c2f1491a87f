// The matrix products of a GPU: cuBLAS or hipBLAS.
#pragma once

#include <memory>

#include "device/blas.hpp"

namespace commlens::device::gpu {

/// For the thread's current GPU.
std::unique_ptr<Blas> make_blas();

}  // namespace commlens::device::gpu

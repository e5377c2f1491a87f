// The operator on FP64 tensor cores.
#pragma once

#include "sem/poisson_kernel.hpp"

namespace commlens::sem {

/// Queues the call where there are tensor cores for it: CUDA, code for sm_80 or newer, order 7, computed geometry.
/// Elsewhere it returns false, and does nothing.
bool apply_on_tensor_cores(const Gll& gll, const PoissonCall<double>& call, device::Stream& stream);
inline bool apply_on_tensor_cores(const Gll& /*gll*/, const PoissonCall<float>& /*call*/, device::Stream& /*stream*/) {
  return false;
}

}  // namespace commlens::sem

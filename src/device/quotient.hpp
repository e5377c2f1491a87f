// What a GPU has an instruction for, in kernels: quotients, and accesses past the cache.
#pragma once

#include <cmath>

#include "device/function.hpp"

#if COMMLENS_GPU_COMPILER
#include "device/gpu/api.hpp"
#endif

namespace commlens::device {

/// a / b from an estimate of 1 / b with an error e of at most 2^-19: 1 / b = estimate (1 + e + e^2 + e^3 ...), of which
/// e^3 is too small for double precision.
COMMLENS_FUNCTION inline double quotient_from_estimate(double a, double b, double estimate) {
  const double e = fma(-b, estimate, 1.0);
  const double first = a * estimate;
  return fma(first, fma(e, e, e), first);
}

/// a / b to about one and a half units in the last place, where b, 1 / b and a / b are normal numbers. On a GPU a
/// division of double precision has a branch and a call for all other numbers; both keep registers, and the compiler
/// from reordering.
COMMLENS_FUNCTION inline double quotient(double a, double b) {
#if defined(COMMLENS_GPU_CODE)
  return quotient_from_estimate(a, b, gpuReciprocalEstimate(b));
#else
  return a / b;
#endif
}

COMMLENS_FUNCTION inline float quotient(float a, float b) { return a / b; }

/// For data that no kernel soon accesses again: a GPU's cache keeps other data in its place.
template <class T>
COMMLENS_FUNCTION inline T load_streaming(const T* from) {
#if defined(COMMLENS_GPU_CODE)
  return gpuLoadStreaming(from);
#else
  return *from;
#endif
}

template <class T>
COMMLENS_FUNCTION inline void store_streaming(T* to, T value) {
#if defined(COMMLENS_GPU_CODE)
  gpuStoreStreaming(to, value);
#else
  *to = value;
#endif
}

}  // namespace commlens::device

// Complex numbers for kernels, stored as FFT libraries and the BLAS do.
#pragma once

#include "device/data_type.hpp"

namespace commlens::fft {

/// Aligned to its size, so that a GPU accesses it in one instruction.
template <class Real>
struct alignas(2 * sizeof(Real)) Complex {
  Real real;
  Real imaginary;
};

/// Calls `function` with 0.0F for c64, and with 0.0 for c128.
template <class Function>
auto in_precision(DataType type, Function function) {
  return type == DataType::c64 ? function(0.0F) : function(0.0);
}

}  // namespace commlens::fft

// Complex numbers that kernels can use, as FFTs and the BLAS store them.
#pragma once

#include "device/data_type.hpp"

namespace commlens::fft {

/// Aligned as a whole, so that a GPU reads and writes it in one access.
template <class Real>
struct alignas(2 * sizeof(Real)) Complex {
  Real real;
  Real imaginary;
};

/// Calls `function` with a zero of the type's real numbers: float for c64, double for c128.
template <class Function>
auto in_precision(DataType type, Function function) {
  return type == DataType::c64 ? function(0.0F) : function(0.0);
}

}  // namespace commlens::fft

// Complex numbers for kernels, stored as FFT libraries and the BLAS do.
#pragma once

namespace commlens::fft {

/// Aligned to its size, so that a GPU accesses it in one instruction.
template <class Real>
struct alignas(2 * sizeof(Real)) Complex {
  Real real;
  Real imaginary;
};

}  // namespace commlens::fft

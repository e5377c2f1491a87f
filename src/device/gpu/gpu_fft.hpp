// The Fourier transforms of a GPU: cuFFT or hipFFT.
#pragma once

#include <memory>

#include "device/fft.hpp"

namespace commlens::device::gpu {

/// For the thread's current GPU.
std::unique_ptr<Fft> make_fft(const FftShape& shape);

}  // namespace commlens::device::gpu

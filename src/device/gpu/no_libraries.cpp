// Stands in for the GPU's BLAS and FFT, as host/no_libraries.cpp does for the host's.
#include <memory>
#include <stdexcept>

#include "device/gpu/libraries.hpp"

namespace commlens::device::gpu {

std::unique_ptr<Blas> make_blas() { throw std::logic_error("this program has no BLAS of the GPU"); }
std::unique_ptr<Fft> make_fft(const FftShape& /*shape*/) {
  throw std::logic_error("this program has no FFT of the GPU");
}

}  // namespace commlens::device::gpu

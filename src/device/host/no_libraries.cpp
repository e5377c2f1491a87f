// Stands in for the BLAS and FFTW in a program that computes nothing. It comes before the library of this folder when
// it is linked, which then brings neither.
#include <memory>
#include <stdexcept>

#include "device/blas.hpp"
#include "device/fft.hpp"
#include "device/host/host_stream.hpp"

namespace commlens::device::host {

std::unique_ptr<Blas> make_blas(int /*threads*/) { throw std::logic_error("this program has no BLAS"); }
std::unique_ptr<Fft> make_fft(const FftShape& /*shape*/) { throw std::logic_error("this program has no FFTW"); }

}  // namespace commlens::device::host

#include "device/fft.hpp"

#include <limits>
#include <stdexcept>

#include "base/error.hpp"

namespace commlens::device {

std::size_t checked_size(const FftShape& shape) {
  if (components(shape.type) != 2) {
    throw std::invalid_argument("a Fourier transform of " + std::string(name(shape.type)) +
                                ": c64 and c128 are supported");
  }
  if (shape.lengths.empty() || shape.lengths.size() > 2) {
    throw std::invalid_argument("a Fourier transform of " + std::to_string(shape.lengths.size()) +
                                " dimensions: one and two are supported");
  }
  // Offsets in bytes must fit the libraries' integers.
  std::size_t room = std::numeric_limits<std::ptrdiff_t>::max() / size_of(shape.type);
  if (shape.count > room) throw Error("Fourier transforms of more arrays than memory can hold");
  if (shape.count > 0) room /= shape.count;
  std::size_t size = 1;
  for (const std::size_t length : shape.lengths) {
    if (length == 0) throw Error("a Fourier transform of length 0");
    if (length > std::numeric_limits<int>::max()) throw Error("a Fourier transform of length 2^31 or more");
    if (length > room) throw Error("Fourier transforms of more elements than memory can hold");
    room /= length;
    size *= length;
  }
  return size;
}

}  // namespace commlens::device

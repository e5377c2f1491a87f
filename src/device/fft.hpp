// Fourier transforms: one class over FFTW, cuFFT and hipFFT.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "device/data_type.hpp"
#include "device/device.hpp"

namespace commlens::device {

/// A set of equal complex-to-complex transforms of arrays that lie one after the other, without gaps.
struct FftShape {
  DataType type = DataType::c128;    ///< c64 or c128
  std::vector<std::size_t> lengths;  ///< of one array: one or two, the last is the fastest
  std::size_t count = 0;             ///< arrays; 0 is allowed: nothing is done
};

/// The sign of the exponent: forward is exp(-2 pi i ...), backward exp(+2 pi i ...). Neither is scaled.
enum class Direction { forward, backward };

/// A plan: made in set-up by Device::fft, for all its executions. It lives until the stream has been waited for, and
/// one execution ends before the next begins: its executions go to one stream, or are ordered by events.
class Fft {
 public:
  virtual ~Fft() = default;

  /// Queues the transforms on a stream of the memory that the plan was made for. `in` may equal `out` (in place);
  /// otherwise `in` is left as it was, and the two do not overlap. Both begin at a whole element; on the host
  /// transforms are fastest from and to addresses that are multiples of 16, as a buffer's is.
  virtual void execute(const void* in, void* out, Direction direction, Stream& stream) = 0;

  /// "cuFFT 12.0.0", "FFTW 3.3.10 (sse2-avx)"
  [[nodiscard]] virtual std::string library() const = 0;
};

/// Elements of one array. Throws what Device::fft promises for a shape that no library takes.
std::size_t checked_size(const FftShape& shape);

}  // namespace commlens::device

// Fourier transforms: one interface to FFTW, cuFFT and hipFFT.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "device/data_type.hpp"
#include "device/device.hpp"

namespace commlens::device {

/// A batch of equal complex-to-complex transforms of contiguous arrays.
struct FftShape {
  DataType type = DataType::c128;    ///< c64 or c128
  std::vector<std::size_t> lengths;  ///< of one array: one or two; the last index is the fastest
  std::size_t count = 0;             ///< arrays; with 0 nothing is done
};

/// The sign of the exponent: forward is exp(-2 pi i …), backward exp(+2 pi i …). Neither is scaled.
enum class Direction { forward, backward };

/// A plan for any number of executions, made by Device::fft. It must outlive the work that it has queued. One execution
/// must be complete before the next begins: they are on one stream, or ordered by events.
class Fft {
 public:
  virtual ~Fft() = default;

  /// Queues the transforms on a stream of the memory that the plan was made for. `in` may equal `out` (in place);
  /// otherwise `in` is preserved, and the two must not overlap. Both are aligned to an element; on the host transforms
  /// are fastest with an alignment of 16 bytes, which buffers have.
  virtual void execute(const void* in, void* out, Direction direction, Stream& stream) = 0;

  /// "cuFFT 12.0.0", "FFTW 3.3.10 (sse2-avx)"
  [[nodiscard]] virtual std::string library() const = 0;
};

/// Elements of one array. Throws as documented for Device::fft for a shape that no library supports.
std::size_t checked_size(const FftShape& shape);

}  // namespace commlens::device

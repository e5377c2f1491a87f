// What messages of a validated replay carry: bytes that follow from a number, and none of which is 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.hpp"
#include "device/function.hpp"
#include "harness/measurement.hpp"

namespace commlens::replay {

/// Elements in memory, one after the other with gaps between them.
struct Block {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;   ///< of all elements
  std::size_t size = 1;    ///< of an element
  std::size_t stride = 1;  ///< from an element to the next
  std::size_t piece = 1;   ///< bytes in a row, but for the last piece of an element
  std::size_t piece_stride = 1;

  /// From the begin to this byte.
  [[nodiscard]] COMMLENS_FUNCTION std::size_t place(std::size_t byte) const {
    const std::size_t in_element = byte % size;
    return byte / size * stride + in_element / piece * piece_stride + in_element % piece;
  }
};

/// Queues: fills the elements with the bytes that follow from `seed`.
void write(device::Stream& stream, const Block& block, std::uint64_t seed);
/// Queues: zeros, which no message has.
void clear(device::Stream& stream, void* data, std::size_t bytes);
/// Whether the elements are what write() with this seed writes. Waits for the stream.
Verdict expect(device::Stream& stream, const Block& block, std::uint64_t seed);

}  // namespace commlens::replay

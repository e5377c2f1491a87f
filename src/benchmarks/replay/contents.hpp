// What messages of a validated replay carry: bytes that follow from a number, and none of which is 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.hpp"
#include "harness/measurement.hpp"

namespace commlens::replay {

/// Elements in memory, one after the other with gaps between them.
struct Block {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;   ///< of all elements
  std::size_t size = 1;    ///< of an element
  std::size_t stride = 1;  ///< from an element to the next
};

/// Queues: fills the elements with the bytes that follow from `seed`.
void write(device::Stream& stream, const Block& block, std::uint64_t seed);
/// Queues: zeros, which no message has.
void clear(device::Stream& stream, void* data, std::size_t bytes);
/// Whether the elements are what write() with this seed writes. Waits for the stream.
Verdict expect(device::Stream& stream, const Block& block, std::uint64_t seed);

}  // namespace commlens::replay

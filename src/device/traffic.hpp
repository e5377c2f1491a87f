// Passes over memory at the rate that the hardware reaches: for ceilings.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "device/device.hpp"

namespace commlens::device {

/// A way to read or write each of so many bytes once.
struct Pass {
  const char* name;
  std::size_t bytes;
  std::function<void()> add;  ///< to the stream
};

/// What passes need beside the bytes that they are over.
inline constexpr std::size_t pass_scratch_bytes = std::size_t{128} << 10;

/// All ways, over a buffer in the stream's memory, which is filled first.
std::vector<Pass> passes_over(const Buffer& buffer, Stream& stream);

}  // namespace commlens::device

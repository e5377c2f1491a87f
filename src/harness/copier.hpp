// Two buffers and a stream that copies from one to the other: what ceilings time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "base/stopwatch.hpp"
#include "device/device.hpp"

namespace commlens {

struct Copier {
  device::Buffer source;
  device::Buffer destination;
  std::unique_ptr<device::Stream> stream;

  /// Pages that were never written are not copied like others.
  void touch() const {
    stream->fill(source.data(), 1, source.bytes());
    stream->fill(destination.data(), 2, destination.bytes());
    (void)time(1, source.bytes());
  }

  /// Seconds of each of `count` copies, each in pieces of at most `piece` bytes.
  [[nodiscard]] double time(std::size_t count, std::size_t piece) const {
    const std::size_t bytes = source.bytes();
    const Stopwatch stopwatch;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t offset = 0; offset < bytes; offset += piece) {
        stream->copy(destination.as<std::byte>() + offset, source.as<std::byte>() + offset,
                     std::min(piece, bytes - offset));
      }
    }
    stream->wait();
    return stopwatch.seconds() / static_cast<double>(count);
  }
};

}  // namespace commlens

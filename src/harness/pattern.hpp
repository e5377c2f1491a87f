// Contents whose transfer or reduction has an exact answer, and their comparison, on the host or on the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/launch.hpp"

namespace commlens::pattern {

/// Mixes an index and a seed to 64 bits that look random (the finalizer of SplitMix64; Steele, Lea, Flood, OOPSLA
/// 2014).
COMMLENS_FUNCTION inline std::uint64_t mix(std::uint64_t index, std::uint64_t seed) {
  std::uint64_t x = index + seed * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// One number for several small ones, so that a message's contents can depend on all of them.
COMMLENS_FUNCTION inline std::uint64_t seed(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
  return mix(mix(a, 1) ^ mix(b, 2), mix(c, 3));
}

COMMLENS_FUNCTION inline unsigned char byte_at(std::size_t index, std::uint64_t seed) {
  return static_cast<unsigned char>(mix(index / 8, seed) >> (8 * (index % 8)));
}

/// Queues: data[i] = byte_at(i, seed).
inline void write_bytes(device::Stream& stream, void* data, std::size_t bytes, std::uint64_t seed) {
  auto* target = static_cast<unsigned char*>(data);
  device::launch(
      stream, bytes, COMMLENS_LAMBDA(std::size_t i) { target[i] = byte_at(i, seed); });
}

/// Queues: every byte is made to differ from what write_bytes(seed) would write, so that what was there cannot pass for
/// it.
inline void spoil_bytes(device::Stream& stream, void* data, std::size_t bytes, std::uint64_t seed) {
  auto* target = static_cast<unsigned char*>(data);
  device::launch(
      stream, bytes, COMMLENS_LAMBDA(std::size_t i) { target[i] = static_cast<unsigned char>(~byte_at(i, seed)); });
}

/// The first wrong byte in words, empty if there is none. Waits for the stream. `stream` reads the memory.
inline std::string wrong_byte(device::Stream& stream, const void* data, std::size_t bytes, std::uint64_t seed) {
  const auto* found = static_cast<const unsigned char*>(data);
  const std::size_t first = device::find_first(
      stream, bytes, COMMLENS_LAMBDA(std::size_t i) { return found[i] != byte_at(i, seed); });
  if (first == bytes) return {};
  unsigned char value = 0;
  stream.copy(&value, found + first, 1);
  stream.wait();
  return "byte " + std::to_string(first) + " of " + std::to_string(bytes) + " is " + std::to_string(value) +
         ", must be " + std::to_string(byte_at(first, seed));
}

}  // namespace commlens::pattern

// Contents whose transfer or reduction has an exact answer, and their comparison, on the host or on the GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/data_type.hpp"
#include "device/device.hpp"
#include "device/function.hpp"
#include "harness/measurement.hpp"

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

/// Between -1 and 1, all of the significand in use. (Zeros and small integers are multiplied faster than real data by
/// a GPU at its power limit: fewer bits change.)
COMMLENS_FUNCTION inline double number_at(std::size_t index, std::uint64_t seed) {
  return static_cast<double>(static_cast<std::int64_t>(mix(index, seed)) >> 10) / 9007199254740992.0;
}

/// Queues: data[i] = number_at(i, seed), for `reals` real numbers: those that elements of `type` consist of.
void write_numbers(device::Stream& stream, void* data, std::size_t reals, DataType type, std::uint64_t seed);

/// Queues: byte i becomes byte_at(i, seed).
void write_bytes(device::Stream& stream, void* data, std::size_t bytes, std::uint64_t seed);
inline void write_bytes(device::Stream& stream, const device::Buffer& buffer, std::uint64_t seed) {
  write_bytes(stream, buffer.data(), buffer.bytes(), seed);
}

/// Queues: every byte is made to differ from what write_bytes(seed) would write from `first` on, so that what was there
/// cannot pass for it.
void poison_bytes(device::Stream& stream, void* data, std::size_t bytes, std::uint64_t seed, std::size_t first = 0);
inline void poison_bytes(device::Stream& stream, const device::Buffer& buffer, std::uint64_t seed) {
  poison_bytes(stream, buffer.data(), buffer.bytes(), seed);
}

/// Whether the bytes are those from `first` on that write_bytes(seed) writes; names the first wrong one. Waits for the
/// stream.
Verdict expect_bytes(device::Stream& stream, const void* data, std::size_t bytes, std::uint64_t seed,
                     std::size_t first = 0);
inline Verdict expect_bytes(device::Stream& stream, const device::Buffer& buffer, std::uint64_t seed) {
  return expect_bytes(stream, buffer.data(), buffer.bytes(), seed);
}

}  // namespace commlens::pattern

#include "harness/pattern.hpp"

#include <string>

#include "device/launch.hpp"
#include "device/upload.hpp"

namespace commlens::pattern {

namespace {

template <class Real>
void write(device::Stream& stream, Real* data, std::size_t count, std::uint64_t seed) {
  device::launch(stream, count, COMMLENS_LAMBDA(std::size_t i) { data[i] = static_cast<Real>(number_at(i, seed)); });
}

}  // namespace

void write_numbers(device::Stream& stream, void* data, std::size_t reals, DataType type, std::uint64_t seed) {
  in_precision(type, [&](auto real) { write(stream, static_cast<decltype(real)*>(data), reals, seed); });
}

void write_bytes(device::Stream& stream, void* data, std::size_t bytes, std::uint64_t seed) {
  auto* target = static_cast<unsigned char*>(data);
  device::launch(stream, bytes, COMMLENS_LAMBDA(std::size_t i) { target[i] = byte_at(i, seed); });
}

void poison_bytes(device::Stream& stream, void* data, std::size_t bytes, std::uint64_t seed, std::size_t first) {
  auto* target = static_cast<unsigned char*>(data);
  device::launch(
      stream, bytes,
      COMMLENS_LAMBDA(std::size_t i) { target[i] = static_cast<unsigned char>(~byte_at(first + i, seed)); });
}

Verdict expect_bytes(device::Stream& stream, const void* data, std::size_t bytes, std::uint64_t seed,
                     std::size_t first) {
  const auto* content = static_cast<const unsigned char*>(data);
  const std::size_t wrong = device::find_first(
      stream, bytes, COMMLENS_LAMBDA(std::size_t i) { return content[i] != byte_at(first + i, seed); });
  if (wrong == bytes) return {.elements = bytes};
  return {.elements = bytes,
          .error = "byte " + std::to_string(wrong) + " of " + std::to_string(bytes) + " is " +
                   std::to_string(device::download(content + wrong, stream)) + ", must be " +
                   std::to_string(byte_at(first + wrong, seed))};
}

}  // namespace commlens::pattern

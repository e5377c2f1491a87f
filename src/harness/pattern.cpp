#include "harness/pattern.hpp"

#include "device/launch.hpp"

namespace commlens::pattern {

namespace {

template <class Real>
void write(device::Stream& stream, Real* data, std::size_t count, std::uint64_t seed) {
  device::launch(stream, count, COMMLENS_LAMBDA(std::size_t i) { data[i] = static_cast<Real>(number_at(i, seed)); });
}

}  // namespace

void write_numbers(device::Stream& stream, void* data, std::size_t reals, DataType type, std::uint64_t seed) {
  if (type == DataType::f32 || type == DataType::c64) return write(stream, static_cast<float*>(data), reals, seed);
  write(stream, static_cast<double*>(data), reals, seed);
}

void write_bytes(device::Stream& stream, void* data, std::size_t bytes, std::uint64_t seed) {
  auto* target = static_cast<unsigned char*>(data);
  device::launch(stream, bytes, COMMLENS_LAMBDA(std::size_t i) { target[i] = byte_at(i, seed); });
}

void spoil_bytes(device::Stream& stream, void* data, std::size_t bytes, std::uint64_t seed) {
  auto* target = static_cast<unsigned char*>(data);
  device::launch(
      stream, bytes, COMMLENS_LAMBDA(std::size_t i) { target[i] = static_cast<unsigned char>(~byte_at(i, seed)); });
}

std::string wrong_byte(device::Stream& stream, const void* data, std::size_t bytes, std::uint64_t seed) {
  const auto* found = static_cast<const unsigned char*>(data);
  const std::size_t first =
      device::find_first(stream, bytes, COMMLENS_LAMBDA(std::size_t i) { return found[i] != byte_at(i, seed); });
  if (first == bytes) return {};
  unsigned char value = 0;
  stream.copy(&value, found + first, 1);
  stream.wait();
  return "byte " + std::to_string(first) + " of " + std::to_string(bytes) + " is " + std::to_string(value) +
         ", must be " + std::to_string(byte_at(first, seed));
}

}  // namespace commlens::pattern

#include "benchmarks/replay/contents.hpp"

#include <string>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "harness/pattern.hpp"

namespace commlens::replay {
namespace {

COMMLENS_FUNCTION inline unsigned char byte_of_message(std::size_t index, std::uint64_t seed) {
  return static_cast<unsigned char>(pattern::byte_at(index, seed) | 1U);
}

}  // namespace

void write(device::Stream& stream, const Block& block, std::uint64_t seed) {
  auto* const target = reinterpret_cast<unsigned char*>(block.begin);
  if (block.piece == block.stride) {
    device::launch(stream, block.bytes, COMMLENS_LAMBDA(std::size_t i) { target[i] = byte_of_message(i, seed); });
  } else {
    device::launch(
        stream, block.bytes, COMMLENS_LAMBDA(std::size_t i) { target[block.place(i)] = byte_of_message(i, seed); });
  }
}

void clear(device::Stream& stream, void* data, std::size_t bytes) {
  auto* const target = static_cast<unsigned char*>(data);
  device::launch(stream, bytes, COMMLENS_LAMBDA(std::size_t i) { target[i] = 0; });
}

Verdict expect(device::Stream& stream, const Block& block, std::uint64_t seed) {
  const auto* const content = reinterpret_cast<const unsigned char*>(block.begin);
  const std::size_t wrong = device::find_first(
      stream, block.bytes,
      COMMLENS_LAMBDA(std::size_t i) { return content[block.place(i)] != byte_of_message(i, seed); });
  if (wrong == block.bytes) return {.elements = block.bytes};
  const auto* const found = content + block.place(wrong);
  return {.elements = block.bytes,
          .error = "byte " + std::to_string(wrong) + " of " + std::to_string(block.bytes) + " is " +
                   std::to_string(device::download(found, stream)) + ", must be " +
                   std::to_string(byte_of_message(wrong, seed))};
}

}  // namespace commlens::replay

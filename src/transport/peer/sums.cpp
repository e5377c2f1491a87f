#include "transport/peer/sums.hpp"

#include <algorithm>
#include <cstring>

#include "device/host/target_clones.hpp"

namespace commlens::transport::peer {

namespace {

constexpr std::size_t block_bytes = 8192;  // of partial results: they stay in the first-level cache

template <class T, class Operation>
COMMLENS_FOR_EACH_PROCESSOR void accumulate(const T* from, T* into, std::size_t count, Operation operation) {
  for (std::size_t i = 0; i < count; ++i) into[i] = operation(into[i], from[i]);
}

template <class T, class Operation>
void combine_blocks(const std::vector<const std::byte*>& inputs, std::byte* output, std::size_t count,
                    Operation operation) {
  constexpr std::size_t length = block_bytes / sizeof(T);
  alignas(64) T partial[length];
  for (std::size_t first = 0; first < count; first += length) {
    const std::size_t elements = std::min(length, count - first);
    const std::size_t offset = first * sizeof(T);
    std::memcpy(partial, inputs.front() + offset, elements * sizeof(T));
    for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
      accumulate(reinterpret_cast<const T*>(inputs[rank] + offset), partial, elements, operation);
    }
    std::memcpy(output + offset, partial, elements * sizeof(T));
  }
}

}  // namespace

void combine(const std::vector<const std::byte*>& inputs, std::byte* output, std::size_t count, DataType type,
             Reduction reduction) {
  with_operation(type, reduction, [&](auto element, auto operation) {
    combine_blocks<decltype(element)>(inputs, output, components(type) * count, operation);
  });
}

}  // namespace commlens::transport::peer

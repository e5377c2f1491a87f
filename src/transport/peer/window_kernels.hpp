// What kernels do for the atomic operations on windows: one thread for each element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/gpu/api.hpp"

namespace commlens::transport::peer::gpu {

/// Replaces an integer by change(integer) without anybody between them; returns what was there. GPUs exchange words, in
/// which the integer may be a byte.
template <class Integer, class Change>
__device__ Integer replace(Integer* place, Change change) {
  using AtomicWord = std::conditional_t<sizeof(Integer) == 8, unsigned long long, unsigned>;
  using Bits = std::make_unsigned_t<Integer>;
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  const std::uintptr_t offset = address % sizeof(AtomicWord);
  auto* const word = reinterpret_cast<AtomicWord*>(address - offset);
  const auto in_word = [shift = 8 * offset](Bits bits) { return static_cast<AtomicWord>(bits) << shift; };
  AtomicWord seen = *static_cast<volatile AtomicWord*>(word);
  while (true) {
    const auto integer = static_cast<Integer>(static_cast<Bits>(seen >> 8 * offset));
    const AtomicWord others = seen & ~in_word(static_cast<Bits>(-1));
    const AtomicWord found = atomicCAS_system(word, seen, others | in_word(static_cast<Bits>(change(integer))));
    if (found == seen) return integer;
    seen = found;
  }
}

template <class Element>
__device__ Element add(Element* place, Element value) {
  if constexpr (sizeof(Element) == 1) {
    return replace(place, [value](Element element) { return static_cast<Element>(element + value); });
  } else if constexpr (std::is_same_v<Element, std::int64_t>) {
    return static_cast<Element>(
        atomicAdd_system(reinterpret_cast<unsigned long long*>(place), static_cast<unsigned long long>(value)));
  } else {
    return atomicAdd_system(place, value);
  }
}

/// `before`: where what was there goes, or nullptr.
template <class Element>
struct Add {
  Element* to;
  const Element* from;
  Element* before;
  __device__ void operator()(std::size_t i) const {
    const Element found = add(to + i, from[i]);
    if (before != nullptr) before[i] = found;
  }
};

template <class Element>
struct CompareAndSwap {
  Element* place;
  const Element* value;
  const Element* expected;
  Element* before;
  __device__ void operator()(std::size_t /*i*/) const {
    const Element given = *value;
    const Element old = *expected;
    *before = replace(place, [given, old](Element element) { return element == old ? given : element; });
  }
};

}  // namespace commlens::transport::peer::gpu

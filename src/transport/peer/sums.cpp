#include "transport/peer/sums.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>

#include "device/error.hpp"
#include "device/host/target_clones.hpp"

namespace commlens::transport::peer {

namespace {

constexpr std::size_t block_bytes = 8192;  // of partial results: they stay in the first-level cache

struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Product {
  template <class T>
  T operator()(T a, T b) const {
    return a * b;
  }
};
struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    return std::min(a, b);
  }
};
struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
};

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

template <class T>
void combine_reals(const std::vector<const std::byte*>& inputs, std::byte* output, std::size_t count,
                   Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return combine_blocks<T>(inputs, output, count, Sum());
    case Reduction::product:
      return combine_blocks<T>(inputs, output, count, Product());
    case Reduction::minimum:
      return combine_blocks<T>(inputs, output, count, Minimum());
    case Reduction::maximum:
      return combine_blocks<T>(inputs, output, count, Maximum());
  }
}

}  // namespace

void combine(const std::vector<const std::byte*>& inputs, std::byte* output, std::size_t count, DataType type,
             Reduction reduction) {
  if (components(type) > 1 && reduction != Reduction::sum) throw Error("allreduce: complex numbers are only summed");
  switch (type) {
    case DataType::i32:
      return combine_reals<std::int32_t>(inputs, output, count, reduction);
    case DataType::f32:
    case DataType::c64:
      return combine_reals<float>(inputs, output, components(type) * count, reduction);
    case DataType::f64:
    case DataType::c128:
      return combine_reals<double>(inputs, output, components(type) * count, reduction);
  }
}

}  // namespace commlens::transport::peer

// Combining the values of an allreduce(), in the order of the ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/data_type.hpp"
#include "device/operations.hpp"
#include "transport/transport.hpp"

namespace commlens::transport::peer {

/// Calls `function(zero, operation)`, with a zero of the type, or of the real numbers that a complex one is made of.
/// Throws Error for a reduction of complex numbers that is not the sum.
template <class Function>
void with_operation(DataType type, Reduction reduction, Function function) {
  require_sum_of_complex(reduction, type);
  const auto on = [&](auto element) {
    switch (reduction) {
      case Reduction::sum:
        return function(element, device::Sum());
      case Reduction::product:
        return function(element, device::Product());
      case Reduction::minimum:
        return function(element, device::Minimum());
      case Reduction::maximum:
        return function(element, device::Maximum());
    }
  };
  if (type == DataType::i32) return on(std::int32_t{0});
  in_precision(type, on);
}

/// output[i] = inputs[0][i] op inputs[1][i] op ... for `count` elements. An input may be the output. Throws Error for a
/// reduction of complex numbers that is not the sum.
void combine(const std::vector<const std::byte*>& inputs, std::byte* output, std::size_t count, DataType type,
             Reduction reduction);

}  // namespace commlens::transport::peer

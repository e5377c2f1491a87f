// The arithmetic of reductions, for what the transports combine themselves.
#pragma once

#include <string>
#include <type_traits>

#include "base/error.hpp"
#include "device/data_type.hpp"
#include "device/function.hpp"
#include "device/operations.hpp"
#include "transport/collectives.hpp"

namespace commlens::transport {

/// Throws Error for a reduction of complex numbers that is not the sum.
inline void require_sum_of_complex(Reduction reduction, DataType type) {
  if (is_complex(type) && reduction != Reduction::sum && reduction != Reduction::user) {
    throw Error("allreduce: complex numbers are only summed");
  }
}

/// Calls `function(operation)` for a sum, product, minimum or maximum; false for another reduction.
template <class Function>
COMMLENS_FUNCTION bool with_arithmetic(Reduction reduction, Function function) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::user:
      function(device::Sum());
      return true;
    case Reduction::prod:
      function(device::Product());
      return true;
    case Reduction::min:
      function(device::Minimum());
      return true;
    case Reduction::max:
      function(device::Maximum());
      return true;
    default:
      return false;
  }
}

/// The same for the reductions of integers.
template <class Function>
COMMLENS_FUNCTION bool with_bits(Reduction reduction, Function function) {
  switch (reduction) {
    case Reduction::band:
      function(device::BitAnd());
      return true;
    case Reduction::bor:
      function(device::BitOr());
      return true;
    case Reduction::bxor:
      function(device::BitXor());
      return true;
    case Reduction::land:
      function(device::LogicalAnd());
      return true;
    case Reduction::lor:
      function(device::LogicalOr());
      return true;
    case Reduction::lxor:
      function(device::LogicalXor());
      return true;
    default:
      return false;
  }
}

/// Calls `function(zero, operation)`, with a zero of the type, or of the real numbers that a complex one is made of.
/// Throws Error for a reduction of complex numbers that is not the sum, for one of bits of what is no integer, and for
/// one that only a library has.
template <class Function>
void with_operation(DataType type, Reduction reduction, Function function) {
  require_sum_of_complex(reduction, type);
  const bool done = with_element(type, [&](auto element) {
    const auto with = [&](auto operation) { function(element, operation); };
    if constexpr (std::is_integral_v<decltype(element)>) {
      if (with_bits(reduction, with)) return true;
    }
    return with_arithmetic(reduction, with);
  });
  if (!done) throw Error("no reduction " + std::string(name(reduction)) + " of " + std::string(name(type)));
}

}  // namespace commlens::transport

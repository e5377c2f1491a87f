// Operations that combine two values, on the host and in kernels.
#pragma once

#include <type_traits>

#include "device/function.hpp"

namespace commlens::device {

/// Sums and products of integers wrap around, as in MPI and NCCL. C++ leaves that undefined for signed integers: they
/// are computed as unsigned ones.
template <class T>
COMMLENS_FUNCTION auto wrapping(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::make_unsigned_t<T>>(value);
  } else {
    return value;
  }
}

// NOLINTBEGIN(cppcoreguidelines-macro-usage): function objects that differ in one expression
#define COMMLENS_OPERATION(Name, expression)         \
  struct Name {                                      \
    template <class T>                               \
    COMMLENS_FUNCTION T operator()(T a, T b) const { \
      return static_cast<T>(expression);             \
    }                                                \
  }
// NOLINTEND(cppcoreguidelines-macro-usage)

COMMLENS_OPERATION(Sum, wrapping(a) + wrapping(b));
COMMLENS_OPERATION(Product, wrapping(a) * wrapping(b));
COMMLENS_OPERATION(Minimum, b < a ? b : a);
COMMLENS_OPERATION(Maximum, a < b ? b : a);
// Of integers.
COMMLENS_OPERATION(BitAnd, a& b);
COMMLENS_OPERATION(BitOr, a | b);
COMMLENS_OPERATION(BitXor, a ^ b);
COMMLENS_OPERATION(LogicalAnd, a != 0 && b != 0);
COMMLENS_OPERATION(LogicalOr, a != 0 || b != 0);
COMMLENS_OPERATION(LogicalXor, (a != 0) != (b != 0));

#undef COMMLENS_OPERATION

}  // namespace commlens::device

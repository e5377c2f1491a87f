// Floating-point numbers of 8 and 16 bits: stored as such, computed with as float, on the host and in kernels.
//
// f16 is IEEE 754's binary16; bf16 the upper half of a float; e4m3 and e5m2 are the 8-bit formats of the Open Compute
// Project (OCP 8-bit Floating Point Specification, revision 1.0): e4m3 has no infinities and one NaN.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "device/function.hpp"

namespace commlens {

template <int exponent_bits, int fraction_bits, bool has_infinity = true>
class SmallFloat {
 public:
  using Bits = std::conditional_t<exponent_bits + fraction_bits == 7, std::uint8_t, std::uint16_t>;

  static constexpr int digits = fraction_bits + 1;
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  /// 2 to this power is too large, as std::numeric_limits::max_exponent.
  static constexpr int max_exponent = has_infinity ? bias + 1 : bias + 2;

  SmallFloat() = default;
  /// Rounds to the nearest, ties to even. What is too large becomes infinite, or NaN where there is no infinity.
  COMMLENS_FUNCTION SmallFloat(float value) {  // NOLINT(google-explicit-constructor): as a float converts to a double
    const auto sign = static_cast<unsigned>(std::signbit(value)) << (exponent_bits + fraction_bits);
    bits_ = static_cast<Bits>(sign | magnitude(std::fabs(value)));
  }
  COMMLENS_FUNCTION operator float() const {  // NOLINT(google-explicit-constructor)
    const unsigned fraction = bits_ & ((1U << fraction_bits) - 1);
    const unsigned exponent = (bits_ >> fraction_bits) & most;
    const float sign = (bits_ >> (exponent_bits + fraction_bits)) != 0 ? -1.0F : 1.0F;
    if (exponent == most && has_infinity) return fraction == 0 ? sign * HUGE_VALF : __builtin_nanf("");
    if (exponent == most && fraction == nan_fraction) return __builtin_nanf("");
    const unsigned hidden = exponent == 0 ? 0 : 1U << fraction_bits;
    const int power = static_cast<int>(exponent == 0 ? 1 : exponent) - bias - fraction_bits;
    return sign * scaled(static_cast<float>(hidden | fraction), power);
  }

 private:
  static constexpr unsigned most = (1U << exponent_bits) - 1;  ///< of the exponent's field
  static constexpr unsigned nan_fraction = (1U << fraction_bits) - 1;
  static constexpr unsigned nan = most << fraction_bits | nan_fraction;
  /// What is larger than all numbers: infinity, where there is one.
  static constexpr unsigned too_large = has_infinity ? most << fraction_bits : nan;

  /// value 2^exponent, as of ldexp(), which not all kernels have. In two steps: 2^exponent alone may be out of range.
  COMMLENS_FUNCTION static float scaled(float value, int exponent) {
    const int half = exponent / 2;
    return value * power_of_two(half) * power_of_two(exponent - half);
  }
  COMMLENS_FUNCTION static float power_of_two(int exponent) {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(exponent + 127) << 23);
  }

  COMMLENS_FUNCTION static unsigned magnitude(float value) {
    if (value != value) return nan;
    if (value >= scaled(2.0F, max_exponent - 1)) return too_large;
    if (value == 0.0F) return 0;
    // value = f 2^exponent with f in [1/2, 1), as of frexp(), which not all kernels have
    int exponent = static_cast<int>(__builtin_bit_cast(std::uint32_t, value) >> 23) - 126;
    const int lowest = 2 - bias;               // of numbers with a hidden bit
    if (exponent < lowest) exponent = lowest;  // NOLINT(readability-use-std-min-max): not in kernels
    // In units of the last digit. A carry out of the fraction, also the one to the first number with a hidden bit,
    // counts the exponent up by itself.
    const auto units = static_cast<unsigned>(std::rint(scaled(value, digits - exponent)));
    const unsigned all = (static_cast<unsigned>(exponent - lowest) << fraction_bits) + units;
    return all < too_large ? all : too_large;
  }

  Bits bits_;
};

using Half = SmallFloat<5, 10>;
using BFloat16 = SmallFloat<8, 7>;
using E4M3 = SmallFloat<4, 3, false>;
using E5M2 = SmallFloat<5, 2>;

}  // namespace commlens

// What the elements of an array are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/enum_names.hpp"
#include "device/small_float.hpp"

namespace commlens {

/// The 8-bit ones are named by the bits of their exponent and fraction (device/small_float.hpp).
enum class DataType { i8, u8, i32, i64, f16, bf16, f8e4m3, f8e5m2, f32, f64, c64, c128 };
ENUM_NAMES(DataType, {i8, "i8"}, {u8, "u8"}, {i32, "i32"}, {i64, "i64"}, {f16, "f16"}, {bf16, "bf16"},
           {f8e4m3, "f8e4m3"}, {f8e5m2, "f8e5m2"}, {f32, "f32"}, {f64, "f64"}, {c64, "c64"}, {c128, "c128"});

constexpr bool is_complex(DataType type) { return type == DataType::c64 || type == DataType::c128; }
constexpr bool is_integer(DataType type) { return type <= DataType::i64; }

/// Real numbers that make up an element: 2 for complex types.
constexpr std::size_t components(DataType type) { return is_complex(type) ? 2 : 1; }

/// Calls `function` with a zero of the type, or of the real numbers that a complex one is made of.
template <class Function>
auto with_element(DataType type, Function function) {
  switch (type) {
    case DataType::i8:
      return function(std::int8_t{0});
    case DataType::u8:
      return function(std::uint8_t{0});
    case DataType::i32:
      return function(std::int32_t{0});
    case DataType::i64:
      return function(std::int64_t{0});
    case DataType::f16:
      return function(Half(0.0F));
    case DataType::bf16:
      return function(BFloat16(0.0F));
    case DataType::f8e4m3:
      return function(E4M3(0.0F));
    case DataType::f8e5m2:
      return function(E5M2(0.0F));
    case DataType::f32:
    case DataType::c64:
      return function(0.0F);
    case DataType::f64:
    case DataType::c128:
      break;
  }
  return function(0.0);
}

/// Bytes of an element.
inline std::size_t size_of(DataType type) {
  return components(type) * with_element(type, [](auto zero) { return sizeof(zero); });
}

/// Calls `function` with 0.0F for a type of single precision, and with 0.0 for one of double precision.
template <class Function>
auto in_precision(DataType type, Function function) {
  return type == DataType::f32 || type == DataType::c64 ? function(0.0F) : function(0.0);
}

/// As an option of benchmarks that compute with real numbers alone.
enum class RealType { f64, f32 };
ENUM_NAMES(RealType, {f64, name(DataType::f64)}, {f32, name(DataType::f32)});

constexpr DataType data_type(RealType type) { return type == RealType::f64 ? DataType::f64 : DataType::f32; }

/// As an option of benchmarks that multiply matrices.
enum class MatrixType { f32, f64, c64, c128 };
ENUM_NAMES(MatrixType, {f32, name(DataType::f32)}, {f64, name(DataType::f64)}, {c64, name(DataType::c64)},
           {c128, name(DataType::c128)});

constexpr DataType data_type(MatrixType type) {
  return static_cast<DataType>(static_cast<int>(DataType::f32) + static_cast<int>(type));
}

}  // namespace commlens

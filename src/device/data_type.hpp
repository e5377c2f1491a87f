// What the elements of an array are.
#pragma once

#include <cstddef>

#include "base/enum_names.hpp"

namespace commlens {

enum class DataType { i32, f32, f64, c64, c128 };
ENUM_NAMES(DataType, {i32, "i32"}, {f32, "f32"}, {f64, "f64"}, {c64, "c64"}, {c128, "c128"});

/// Real numbers that make up an element: 2 for complex types.
constexpr std::size_t components(DataType type) { return type == DataType::c64 || type == DataType::c128 ? 2 : 1; }

/// Bytes of an element.
constexpr std::size_t size_of(DataType type) {
  const bool single = type == DataType::i32 || type == DataType::f32 || type == DataType::c64;
  return (single ? 4 : 8) * components(type);
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

}  // namespace commlens

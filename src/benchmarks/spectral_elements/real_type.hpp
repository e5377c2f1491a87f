// The types of real numbers, as an option of benchmarks that compute with nothing else.
#pragma once

#include "device/data_type.hpp"

namespace commlens {

enum class RealType { f64, f32 };
ENUM_NAMES(RealType, {f64, name(DataType::f64)}, {f32, name(DataType::f32)});

constexpr DataType data_type(RealType type) { return type == RealType::f64 ? DataType::f64 : DataType::f32; }

}  // namespace commlens

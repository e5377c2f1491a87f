// What the elements of an array are.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace commlens {

enum class DataType { i32, f32, f64, c64, c128 };
inline constexpr std::string_view data_type_names = "i32, f32, f64, c64, c128";
std::string_view name(DataType type);
std::optional<DataType> data_type_from(std::string_view wanted);
std::size_t size_of(DataType type);  ///< bytes
/// Real numbers that make up an element: 2 for complex types.
constexpr std::size_t components(DataType type) { return type == DataType::c64 || type == DataType::c128 ? 2 : 1; }

}  // namespace commlens

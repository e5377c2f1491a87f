#include "device/data_type.hpp"

#include <array>

namespace commlens {

namespace {
constexpr std::array<std::string_view, 5> names{"i32", "f32", "f64", "c64", "c128"};
constexpr std::array<std::size_t, 5> sizes{4, 4, 8, 8, 16};
}  // namespace

std::string_view name(DataType type) { return names.at(static_cast<std::size_t>(type)); }

std::optional<DataType> data_type_from(std::string_view wanted) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == wanted) return static_cast<DataType>(i);
  }
  return std::nullopt;
}

std::size_t size_of(DataType type) { return sizes.at(static_cast<std::size_t>(type)); }

}  // namespace commlens

// The words for the values of an enumeration, declared once: options take them, tables show them, records hold them.
//
//   enum class Layout { tall, wide };
//   ENUM_NAMES(Layout, {tall, "tall"}, {wide, "wide"});
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace commlens {

template <class Enum, std::size_t n>
constexpr auto enum_names(const std::pair<Enum, std::string_view> (&names)[n]) {
  return std::to_array(names);
}

/// An enumeration whose words names_of() lists, found by argument-dependent lookup.
template <class Enum>
concept NamedEnum = std::is_enum_v<Enum> && requires(Enum value) { names_of(value); };

/// Empty for a value that has no name.
template <NamedEnum Enum>
constexpr std::string_view name(Enum value) {
  for (const auto& [known, text] : names_of(value)) {
    if (known == value) return text;
  }
  return {};
}

/// The value's entry in a table that has one for each value, in the order in which these are declared.
template <class Enum, class Entry, std::size_t n>
constexpr Entry entry_of(const std::array<Entry, n>& table, Enum value) {
  if constexpr (NamedEnum<Enum>) static_assert(n == names_of(Enum{}).size());
  return table[static_cast<std::size_t>(value)];
}

template <NamedEnum Enum>
constexpr std::optional<Enum> from_name(std::string_view text) {
  for (const auto& [value, known] : names_of(Enum{})) {
    if (known == text) return value;
  }
  return std::nullopt;
}

template <NamedEnum Enum>
std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const auto& [value, text] : names_of(Enum{})) names.emplace_back(text);
  return names;
}

template <NamedEnum Enum>
std::vector<Enum> all_values() {
  std::vector<Enum> values;
  for (const auto& [value, text] : names_of(Enum{})) values.push_back(value);
  return values;
}

}  // namespace commlens

// NOLINTBEGIN(cppcoreguidelines-macro-usage): names are declared in one line beside their enumeration
#define ENUM_NAMES(Enum, ...)                           \
  constexpr auto names_of(Enum) {                       \
    using enum Enum;                                    \
    return ::commlens::enum_names<Enum>({__VA_ARGS__}); \
  }                                                     \
  static_assert(true)
// NOLINTEND(cppcoreguidelines-macro-usage)

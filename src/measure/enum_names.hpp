// The words for the values of an enumeration, declared once: options take them, tables show them, records hold them.
//
//   enum class Layout { tall, wide };
//   constexpr auto names_of(Layout /*type*/) { return enum_names<Layout>({{Layout::tall, "tall"}, {Layout::wide,
//   "wide"}}); }
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

#include "base/format.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>

namespace commlens {
namespace {

constexpr std::array<const char*, 7> binary_units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
constexpr double exponent_from = 1e9;

std::string without_trailing_zeros(std::string number) {
  if (number.find('.') == std::string::npos) return number;
  number.erase(number.find_last_not_of('0') + 1);
  if (number.ends_with('.')) number.pop_back();
  return number;
}

/// A whole number with a comma between thousands.
std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t place = digits.size(); place > first + 3;) digits.insert(place -= 3, 1, ',');
  return digits;
}

/// "2.828e9"
std::string with_exponent(double value) {
  const std::string text = fmt::format("{:.3e}", value);
  const std::size_t exponent = text.find_first_not_of("e+0", text.find('e'));
  return text.substr(0, text.find('e')) + 'e' + text.substr(exponent);
}

}  // namespace

std::string format_number(double value) {
  const double magnitude = std::abs(value);
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (magnitude >= exponent_from) return with_exponent(value);
  if (magnitude >= 999.95 || magnitude == 0) return grouped(value);
  if (magnitude < 1e-4) return fmt::format("{:.3g}", value);
  std::array<char, 32> text = {};  // by C: {fmt} 9 writes 99.996 with five digits
  std::snprintf(text.data(), text.size(), "%#.4g", value);
  return text.data();
}

std::string format_percent(double fraction) {
  const double percent = 100 * fraction;
  return std::abs(fraction) >= 0.1 ? fmt::format("{:.0f}%", percent) : fmt::format("{:.2g}%", percent);
}

std::string format_fraction(double fraction) {
  if (fraction > 1) return "> 100% (ceiling not reached)";
  return fraction > 0 && fraction < 0.01 ? "< 1%" : format_percent(fraction);
}

std::string format_bytes(double bytes) {
  std::size_t unit = 0;
  while (bytes >= 1023.5 && unit + 1 < binary_units.size()) {
    bytes /= 1024;
    ++unit;
  }
  const int decimals = bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0;
  return fmt::format("{} {}", without_trailing_zeros(fmt::format("{:.{}f}", bytes, decimals)), binary_units[unit]);
}

std::string counted(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace commlens

#include "measure/format.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace commlens::measure {
namespace {

constexpr std::array<const char*, 7> binary_units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
constexpr std::array<const char*, 7> decimal_units = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};

/// How often `bytes` can be divided by the base without a remainder, and without running out of units.
std::size_t whole_divisions(std::int64_t bytes, std::int64_t base) {
  std::size_t divisions = 0;
  for (; bytes != 0 && bytes % base == 0 && divisions + 1 < binary_units.size(); bytes /= base) ++divisions;
  return divisions;
}

std::int64_t power(std::int64_t base, std::size_t exponent) {
  std::int64_t result = 1;
  for (; exponent > 0; --exponent) result *= base;
  return result;
}

}  // namespace

NumberFormat::NumberFormat(double example) {
  const double magnitude = std::abs(example);
  if (magnitude == 0) return;
  scientific_ = magnitude >= 1e7 || magnitude < 1e-5;
  if (scientific_) {
    decimals_ = 3;
  } else if (magnitude < 1) {
    decimals_ = 2 - static_cast<int>(std::floor(std::log10(magnitude)));
  } else {
    decimals_ = magnitude < 100 ? 2 : magnitude < 1000 ? 1 : 0;
  }
}

std::string NumberFormat::operator()(double value) const {
  return scientific_ ? fmt::format("{:.{}e}", value, decimals_) : fmt::format("{:.{}f}", value, decimals_);
}

std::string with_interval(const Statistics& statistics, std::size_t width) {
  const NumberFormat format(statistics.median);
  const auto& interval = statistics.median_interval;
  const std::string text = interval ? fmt::format("[{}, {}]", format(interval->low), format(interval->high))
                                    : fmt::format("[{}]", counted(statistics.count, "sample"));
  return fmt::format("{:>{}} {}", format(statistics.median), width, text);
}

std::string format_percent(double fraction) {
  const double percent = 100 * fraction;
  return fmt::format("{:.{}f}%", percent, percent >= 100 ? 0 : percent >= 10 ? 1 : 2);
}

std::string format_fraction(double fraction) {
  return fraction > 0 && fraction < 0.01 ? fmt::format("1/{:.0f}", 1 / fraction) : format_percent(fraction);
}

std::string format_bytes(std::int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  const std::size_t binary = whole_divisions(bytes, 1024);
  const std::int64_t in_binary_unit = bytes / power(1024, binary);
  if (binary > 0 && in_binary_unit < 1024) return fmt::format("{} {}", in_binary_unit, binary_units[binary]);
  const std::size_t decimal = whole_divisions(bytes, 1000);
  const std::int64_t in_decimal_unit = bytes / power(1000, decimal);
  if (decimal > 0 && in_decimal_unit < 1000) return fmt::format("{} {}", in_decimal_unit, decimal_units[decimal]);
  return format_bytes(static_cast<double>(bytes));
}

std::string format_bytes(double bytes) {
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < binary_units.size(); bytes /= 1024) ++unit;
  const int decimals = unit == 0 ? 0 : bytes < 10 ? 2 : bytes < 100 ? 1 : 0;
  return fmt::format("{:.{}f} {}", bytes, decimals, binary_units[unit]);
}

std::string counted(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace commlens::measure

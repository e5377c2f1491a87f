// Numbers as users write them. Everything here throws UsageError, which names the option, the value and the fix.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace commlens {

constexpr std::size_t operator""_KiB(unsigned long long value) { return value << 10; }
constexpr std::size_t operator""_MiB(unsigned long long value) { return value << 20; }

constexpr std::size_t largest_size = std::size_t{1} << 60;  ///< larger than any machine

/// The parts between separators, empty ones too: one at least.
std::vector<std::string> split(const std::string& text, char separator);

/// "4096", "8K", "1G" (binary multiples) or "1e7"; at least 1.
std::size_t parse_size(const std::string& option, const std::string& text, std::size_t most = largest_size);
/// The same, and 0.
std::size_t parse_count(const std::string& option, const std::string& text, std::size_t most = largest_size);
/// "8", "8:1G" (times 2), "8:1G:x8" (times 8) or a list "8,1000,1M" of these. A range ends with its last size, also
/// where the factor does not lead there.
std::vector<std::size_t> parse_sizes(const std::string& option, const std::string& text);

struct Range {
  double least = 0;
  double most = 1e9;
  std::string fix;  ///< "write a number from 0 to 1, such as 0.3"; empty: made from both
};
/// A real number.
double parse_number(const std::string& option, const std::string& text, const Range& range);
/// The same with "%" after it or not.
double parse_percent(const std::string& option, const std::string& text, const Range& range);

using Box = std::array<std::size_t, 3>;

/// "125,125,100" or "125x125x100".
std::vector<std::size_t> parse_extents(const std::string& option, std::string text);
/// "125" for a cube, "125,125,100" or "125x125x100"; of at most 1M each. The option counts `things`.
Box parse_box(const std::string& option, const std::string& text, const std::string& things);
/// "125x125x100"
std::string box_text(const Box& box);

}  // namespace commlens

#include "base/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/error.hpp"

namespace commlens {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  if (text.empty() || text.back() == separator) parts.emplace_back();
  return parts;
}

namespace {

/// The number that is the whole text; nothing for any other text.
std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// 1024 to the power that a suffix stands for; takes the suffix off.
double take_multiple(std::string& text) {
  constexpr std::string_view suffixes = "KMGT";
  if (text.empty()) return 1;
  const auto power = suffixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
  if (power == std::string_view::npos) return 1;
  text.pop_back();
  return std::pow(1024.0, static_cast<double>(power + 1));
}

void append_range(std::vector<std::size_t>& sizes, const std::string& option, const std::string& text) {
  const auto parts = split(text, ':');
  if (parts.size() > 3) throw UsageError(option, text, "write SIZE, FIRST:LAST or FIRST:LAST:xFACTOR, such as 8:1G:x8");
  const std::size_t first = parse_size(option, parts[0]);
  const std::size_t last = parts.size() > 1 ? parse_size(option, parts[1]) : first;
  std::size_t factor = 2;
  if (parts.size() == 3) {
    if (parts[2].size() < 2 || parts[2][0] != 'x')
      throw UsageError(option, text, "write the step as xFACTOR, such as x8");
    factor = parse_size(option, parts[2].substr(1));
    if (factor < 2) throw UsageError(option, text, "the step must be x2 or more");
  }
  if (first > last) {
    throw UsageError(option, text,
                     fmt::format("the first size is larger than the last; write {}:{}", parts[1], parts[0]));
  }
  for (std::size_t size = first; size < last; size *= factor) {
    sizes.push_back(size);
    if (size > last / factor) break;
  }
  sizes.push_back(last);
}

std::size_t parse_whole(const std::string& option, const std::string& text, std::size_t least, std::size_t most) {
  const std::string example =
      fmt::format("write a whole number of at least {}, such as 4096, 8K, 1G (binary) or 1e7", least);
  std::string digits = text;
  const double multiple = take_multiple(digits);
  const auto number = number_in(digits);
  if (!number) throw UsageError(option, text, "not a size; " + example);
  const double value = *number * multiple;
  if (!(value >= static_cast<double>(least)) || value != std::floor(value)) {
    throw UsageError(option, text, "too small or not whole; " + example);
  }
  if (value > static_cast<double>(most)) {
    throw UsageError(
        option, text,
        most == largest_size ? "larger than any machine; " + example : fmt::format("write at most {}", most));
  }
  return static_cast<std::size_t>(value);
}

}  // namespace

std::size_t parse_size(const std::string& option, const std::string& text, std::size_t most) {
  return parse_whole(option, text, 1, most);
}

std::size_t parse_count(const std::string& option, const std::string& text, std::size_t most) {
  return parse_whole(option, text, 0, most);
}

std::vector<std::size_t> parse_sizes(const std::string& option, const std::string& text) {
  std::vector<std::size_t> sizes;
  for (const std::string& part : split(text, ',')) {
    if (part.empty() && !text.empty()) throw UsageError(option, text, "a size is missing before or after a comma");
    append_range(sizes, option, part);
  }
  return sizes;
}

double parse_number(const std::string& option, const std::string& text, const Range& range) {
  const auto value = number_in(text);
  const bool in_range = value && *value >= range.least && *value <= range.most;  // NaN is not
  if (in_range) return *value;
  throw UsageError(
      option, text,
      range.fix.empty() ? fmt::format("write a number from {:g} to {:.10g}", range.least, range.most) : range.fix);
}

double parse_percent(const std::string& option, const std::string& text, const Range& range) {
  return parse_number(option, text.ends_with('%') ? text.substr(0, text.size() - 1) : text, range);
}

std::vector<std::size_t> parse_extents(const std::string& option, std::string text) {
  std::replace(text.begin(), text.end(), 'x', ',');
  return parse_sizes(option, text);
}

Box parse_box(const std::string& option, const std::string& text, const std::string& things) {
  constexpr std::size_t most = 1'000'000;
  const bool is_range = text.find(':') != std::string::npos;
  auto sizes = is_range ? std::vector<std::size_t>{} : parse_extents(option, text);
  if (sizes.size() == 1) sizes.resize(3, sizes.front());
  const bool too_large = std::any_of(sizes.begin(), sizes.end(), [](std::size_t size) { return size > most; });
  if (sizes.size() != 3 || too_large) {
    throw UsageError(option, text,
                     "write one number of " + things + " for a cube, or three such as 125,125,100, of at most 1M each");
  }
  return {sizes[0], sizes[1], sizes[2]};
}

std::string box_text(const Box& box) { return fmt::format("{}x{}x{}", box[0], box[1], box[2]); }

}  // namespace commlens

#include "measure/reporters/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace commlens::measure {
namespace {

constexpr std::array<const char*, 5> binary_units = {"B", "KiB", "MiB", "GiB", "TiB"};
constexpr std::array<const char*, 5> decimal_units = {"B", "kB", "MB", "GB", "TB"};

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

std::string rounded_bytes(std::int64_t bytes) {
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < binary_units.size(); value /= 1024) ++unit;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, binary_units[unit]);
}

struct ValueToText {
  std::string operator()(const std::string& value) const { return value; }
  template <typename Other>
  std::string operator()(const Other& value) const {
    return fmt::format("{}", value);
  }
};

/// What a sweep over sizes varies from record to record.
bool is_size(const std::string& parameter) { return parameter == "bytes" || parameter == "count"; }

}  // namespace

std::string commlens_version(const RunInformation& run) {
  const auto found = run.versions.find("commlens");
  return found == run.versions.end() ? "unknown" : found->second;
}

std::string human_bytes(std::int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  const std::size_t binary = whole_divisions(bytes, 1024);
  const std::int64_t in_binary_unit = bytes / power(1024, binary);
  if (binary > 0 && in_binary_unit < 1024) return fmt::format("{} {}", in_binary_unit, binary_units[binary]);
  const std::size_t decimal = whole_divisions(bytes, 1000);
  const std::int64_t in_decimal_unit = bytes / power(1000, decimal);
  if (decimal > 0 && in_decimal_unit < 1000) return fmt::format("{} {}", in_decimal_unit, decimal_units[decimal]);
  return rounded_bytes(bytes);
}

std::optional<std::int64_t> integer_parameter(const Record& record, const std::string& name) {
  const Value* value = find(record.parameters, name);
  const auto* integer = value ? std::get_if<std::int64_t>(value) : nullptr;
  return integer ? std::optional(*integer) : std::nullopt;
}

const Figure* find_figure(const Record& record, std::string_view name) {
  const auto found = std::find_if(record.figures.begin(), record.figures.end(),
                                  [&](const Figure& figure) { return figure.name == name; });
  return found == record.figures.end() ? nullptr : &*found;
}

std::string settings_of(const Record& record) {
  std::string settings;
  for (const auto& [name, value] : record.parameters) {
    if (is_size(name) || name == record.variant) continue;
    settings += fmt::format("{}{}={}", settings.empty() ? "" : ", ", name, std::visit(ValueToText{}, value));
  }
  return settings;
}

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char character : text) {
    if (character != '\n' && character != '\r') {
      line += character;
    } else if (!line.empty() && !line.ends_with("; ")) {
      line += "; ";
    }
  }
  if (line.ends_with("; ")) line.resize(line.size() - 2);
  return line;
}

std::string complaint(const Outcome& outcome) {
  const char* word = outcome.status == Status::skipped ? "skipped" : "failed";
  return fmt::format("{}: {}", word, outcome.reason.empty() ? "no reason given" : on_one_line(outcome.reason));
}

std::pair<std::string, std::string> memory_sides(const std::string& memory) {
  const std::size_t colon = memory.find(':');
  if (colon == std::string::npos) return {memory, memory};
  return {memory.substr(0, colon), memory.substr(colon + 1)};
}

}  // namespace commlens::measure

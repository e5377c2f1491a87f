#include "measure/reporters/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <variant>

namespace commlens::measure {

std::string commlens_version(const Start& start) {
  const auto found = start.versions.find("commlens");
  return found == start.versions.end() ? "unknown" : found->second;
}

std::optional<std::int64_t> integer_parameter(const Record& record, std::string_view name) {
  const Value* value = record.parameter(name);
  const auto* integer = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
  return integer != nullptr ? std::optional(*integer) : std::nullopt;
}

const CaseMetric* find_metric(const Record& record, std::string_view name) {
  const auto found = std::find_if(record.metrics.begin(), record.metrics.end(),
                                  [&](const CaseMetric& metric) { return metric.metric.name == name; });
  return found == record.metrics.end() ? nullptr : &*found;
}

std::string settings_of(const Record& record) {
  std::string settings;
  for (const Parameter& parameter : record.parameters) {
    if (parameter.role != Role::setting) continue;
    settings += fmt::format("{}{}={}", settings.empty() ? "" : ", ", parameter.name, text_of(parameter.value));
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
  return fmt::format("{}: {}", name(outcome.status),
                     outcome.reason.empty() ? "no reason given" : on_one_line(outcome.reason));
}

std::pair<std::string, std::string> memory_sides(const std::string& memory) {
  const std::size_t colon = memory.find(':');
  if (colon == std::string::npos) return {memory, memory};
  return {memory.substr(0, colon), memory.substr(colon + 1)};
}

}  // namespace commlens::measure

#include "measure/record.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commlens::measure {

const Value* Record::parameter(std::string_view name) const {
  const auto match = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const Parameter& parameter) { return parameter.name == name; });
  return match == parameters.end() ? nullptr : &match->value;
}

const Parameter* Record::parameter_of(Role role) const {
  const auto match = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const Parameter& parameter) { return parameter.role == role; });
  return match == parameters.end() ? nullptr : &*match;
}

std::string text_of(const Value& value) {
  return std::visit([](const auto& content) { return fmt::format("{}", content); }, value);
}

std::string label_of(std::string_view name, const Unit& unit) {
  if (!unit.ending.empty() && name.ends_with(unit.ending)) name.remove_suffix(unit.ending.size());
  std::string label(name);
  std::replace(label.begin(), label.end(), '_', ' ');
  return label;
}

std::string Metric::label() const { return given_label.empty() ? label_of(name, unit) : std::string(given_label); }

const ClassicLayout* BenchmarkDeclaration::classic_layout(std::string_view format) const {
  const auto match = std::find_if(classic.begin(), classic.end(),
                                  [&](const ClassicLayout& layout) { return layout.format == format; });
  return match == classic.end() ? nullptr : &*match;
}

std::vector<Metric> with_time(std::vector<Metric> metrics) {
  const bool known =
      std::any_of(metrics.begin(), metrics.end(), [](const Metric& metric) { return metric.name == time_us.name; });
  if (!known) metrics.push_back(time_us);
  return metrics;
}

}  // namespace commlens::measure

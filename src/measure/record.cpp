#include "measure/record.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commlens::measure {

const Value* Record::parameter(std::string_view name) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const Parameter& parameter) { return parameter.name == name; });
  return found == parameters.end() ? nullptr : &found->value;
}

const Parameter* Record::parameter_of(Role role) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const Parameter& parameter) { return parameter.role == role; });
  return found == parameters.end() ? nullptr : &*found;
}

std::string text_of(const Value& value) {
  return std::visit([](const auto& one) { return fmt::format("{}", one); }, value);
}

}  // namespace commlens::measure

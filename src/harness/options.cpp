#include "harness/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

namespace commlens {

namespace {

std::string sweep_text(const std::vector<std::size_t>& values) {
  if (values.empty()) return "none";
  if (values.size() == 1) return std::to_string(values.front());
  return fmt::format("{} ... {} ({} sizes)", values.front(), values.back(), values.size());
}

/// A size twice would be two cases that nothing tells apart.
std::vector<std::size_t> different(const std::string& option, const std::string& text) {
  auto sizes = parse_sizes(option, text);
  auto sorted = sizes;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    throw UsageError(option, text, fmt::format("{} is in it twice; leave one of them out", *twice));
  }
  return sizes;
}

}  // namespace

Sweep::Sweep(std::size_t from, std::size_t to, std::size_t factor) {
  for (std::size_t size = from; size <= to; size *= factor) values.push_back(size);
}

std::size_t Sweep::largest() const { return values.empty() ? 0 : *std::max_element(values.begin(), values.end()); }

std::size_t Sweep::value() const {
  if (values.size() != 1) throw std::logic_error("a sweep where a case has one size");
  return values.front();
}

std::string Option::parameter() const {
  std::string parameter = name_;
  std::replace(parameter.begin(), parameter.end(), '-', '_');
  return parameter;
}

Option& OptionSet::add(const std::string& name, std::size_t& variable, std::string help) {
  return options_.emplace_back(
      name, std::move(help), [&variable, name](const std::string& text) { variable = parse_size(name, text); },
      [&variable] { return std::to_string(variable); }, [&variable] { return static_cast<std::int64_t>(variable); });
}

Option& OptionSet::add_count_or_none(const std::string& name, std::size_t& variable, std::string help) {
  return options_.emplace_back(
      name, std::move(help), [&variable, name](const std::string& text) { variable = parse_count(name, text); },
      [&variable] { return variable > 0 ? std::to_string(variable) : "none"; },
      [&variable]() -> std::optional<measure::Value> {
        if (variable == 0) return std::nullopt;
        return static_cast<std::int64_t>(variable);
      });
}

Option& OptionSet::add(const std::string& name, double& variable, const Range& range, std::string help) {
  return options_.emplace_back(
      name, std::move(help),
      [&variable, name, range](const std::string& text) { variable = parse_number(name, text, range); },
      [&variable] { return fmt::format("{:g}", variable); }, [&variable] { return variable; });
}

Option& OptionSet::add(const std::string& name, Sweep& variable, std::string help) {
  if (sweep_ != nullptr) throw std::logic_error("a benchmark has at most one sweep");
  sweep_ = &variable;
  sweep_index_ = options_.size();
  auto& option = options_.emplace_back(
      name, std::move(help), [&variable, name](const std::string& text) { variable.values = different(name, text); },
      [&variable] { return sweep_text(variable.values); },
      [&variable]() -> std::optional<measure::Value> {
        if (variable.empty()) return std::nullopt;
        return static_cast<std::int64_t>(variable.values.front());
      });
  return option.role(measure::Role::size);
}

Option& OptionSet::add(const std::string& name, Sizes& variable, std::string help) {
  auto& option = add(name, static_cast<Sweep&>(variable), std::move(help));
  option.unit_ = measure::unit::bytes.text;
  sizes_ = true;
  return option;
}

Option& OptionSet::add_flag(const std::string& name, const std::string& opposite, bool& variable, std::string help) {
  auto& option = options_.emplace_back(
      name, std::move(help), [&variable, opposite](const std::string& text) { variable = text != opposite; },
      [&variable, name, opposite] { return variable ? name : opposite; }, [&variable] { return variable; });
  option.opposite_ = opposite;
  return option;
}

Option& OptionSet::add_text(const std::string& name, Option::Parse parse, const Option::Text& text, std::string help) {
  return options_.emplace_back(name, std::move(help), std::move(parse), text,
                               [text]() -> std::optional<measure::Value> { return text(); });
}

Option& OptionSet::add_timeline(std::string& variable) {
  timeline_ = &variable;
  return options_.emplace_back(
      "timeline", "write the timeline of an operation, for ui.perfetto.dev, to this file",
      [&variable](const std::string& text) {
        if (text.empty()) throw UsageError("timeline", "''", "name a file");
        variable = text;
      },
      [] { return std::string("none"); }, []() -> std::optional<measure::Value> { return std::nullopt; });
}

std::string OptionSet::joined(const std::vector<std::string>& words, const std::string& separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

const Option* OptionSet::size() const {
  const auto size = std::find_if(options_.begin(), options_.end(),
                                 [](const Option& option) { return option.is_size() && option.value().has_value(); });
  if (size != options_.end()) return &*size;
  return sweep_ != nullptr && !sweep_->empty() ? &options_[sweep_index_] : nullptr;
}

/// Choices are compared only where there are several.
measure::Role OptionSet::role_of(const Option& option) const {
  const bool compared = choices() > 1 && &option == &options_[choices_index_];
  return compared ? measure::Role::variant : option.role();
}

measure::Parameters OptionSet::parameters() const {
  measure::Parameters parameters;
  for (const Option& option : options_) {
    if (auto value = option.value()) {
      parameters.push_back({option.parameter(), std::move(*value), role_of(option), option.unit()});
    }
  }
  return parameters;
}

std::vector<measure::ParameterDeclaration> OptionSet::declarations() const {
  std::vector<measure::ParameterDeclaration> declarations;
  for (const Option& option : options_) {
    if (timeline_ != nullptr && option.name() == "timeline") continue;  // no parameter
    declarations.push_back(
        {option.parameter(), option.name(), role_of(option), option.unit(), option.help(), option.is_per_rank()});
  }
  return declarations;
}

}  // namespace commlens

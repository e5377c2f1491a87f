#include "harness/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "harness/usage_error.hpp"

namespace commlens {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  if (text.empty() || text.back() == separator) parts.emplace_back();
  return parts;
}

/// 1024 to the power that a suffix stands for; takes the suffix off.
double take_multiple(std::string& text) {
  constexpr std::string_view suffixes = "KMGT";
  if (text.size() > 1 && (text.back() == 'i' || text.back() == 'B')) return 1;  // "Ki", "KB" are refused as no numbers
  const auto power = text.empty()
                         ? std::string_view::npos
                         : suffixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
  if (power == std::string_view::npos) return 1;
  text.pop_back();
  return std::pow(1024.0, static_cast<double>(power + 1));
}

std::string join(const std::vector<std::size_t>& values) {
  if (values.empty()) return "none";
  if (values.size() == 1) return std::to_string(values.front());
  return fmt::format("{} … {} ({} sizes)", values.front(), values.back(), values.size());
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
  for (std::size_t size = first; size <= last; size *= factor) {
    sizes.push_back(size);
    if (size > last / factor) break;
  }
}

/// Of an option, of a flag the first: with underscores for hyphens.
std::string parameter_name(const std::string& option) {
  std::string name = option.substr(0, option.find(','));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

device::Memory memory_named(const std::string& option, const std::string& text) {
  const auto memory = device::memory_from(text);
  if (!memory) throw UsageError(option, text, fmt::format("no such memory; there are {}", device::memory_names));
  return *memory;
}

}  // namespace

std::size_t parse_size(const std::string& option, const std::string& text) {
  const std::string example = "write a whole number of at least 1, such as 4096, 8K, 1G (binary) or 1e7";
  std::string digits = text;
  const double multiple = take_multiple(digits);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    throw UsageError(option, text.empty() ? "''" : text, "not a size; " + example);
  }
  value *= multiple;
  if (!(value >= 1) || value != std::floor(value)) throw UsageError(option, text, "too small or not whole; " + example);
  if (value > static_cast<double>(std::size_t{1} << 60))
    throw UsageError(option, text, "larger than any machine; " + example);
  return static_cast<std::size_t>(value);
}

std::size_t parse_count(const std::string& option, const std::string& text) {
  return text == "0" ? 0 : parse_size(option, text);
}

std::vector<std::size_t> parse_sizes(const std::string& option, const std::string& text) {
  std::vector<std::size_t> sizes;
  for (const std::string& part : split(text, ',')) append_range(sizes, option, part);
  return sizes;
}

Sweep::Sweep(std::size_t from, std::size_t to, std::size_t factor) : current(from) {
  for (std::size_t size = from; size <= to; size *= factor) values.push_back(size);
}

OptionSet::Option& OptionSet::add(const std::string& name, std::size_t& variable, std::string help) {
  return options_.emplace_back(Option{
      name, std::move(help), false, [&variable, name](const std::string& text) { variable = parse_size(name, text); },
      [&variable] { return static_cast<std::int64_t>(variable); }, [&variable] { return std::to_string(variable); }});
}

OptionSet::Option& OptionSet::add(const std::string& name, Sweep& variable, std::string help) {
  if (sweep_ != nullptr) throw std::logic_error("a benchmark has at most one sweep");
  sweep_ = &variable;
  sweep_index_ = options_.size();
  return options_.emplace_back(
      Option{name, std::move(help), false,
             [&variable, name](const std::string& text) {
               variable.values = parse_sizes(name, text);
               variable.current = variable.values.front();
             },
             [&variable]() -> std::optional<measure::Value> {
               if (variable.none()) return std::nullopt;
               return static_cast<std::int64_t>(variable.current);
             },
             [&variable] { return variable.values.empty() ? "none" : join(variable.values); }});
}

OptionSet::Option& OptionSet::add(const std::string& name, std::optional<device::Memory>& variable, std::string help) {
  return options_.emplace_back(Option{
      name, std::move(help), false, [&variable, name](const std::string& text) { variable = memory_named(name, text); },
      [&variable]() -> std::optional<measure::Value> {
        if (!variable) return std::nullopt;
        return std::string(device::name(*variable));
      },
      [&variable] { return variable ? std::string(device::name(*variable)) : std::string("as --memory"); }});
}

OptionSet::Option& OptionSet::add(const std::string& name, DataType& variable, std::string help) {
  return options_.emplace_back(Option{name, std::move(help), false,
                                      [&variable, name](const std::string& text) {
                                        const auto type = data_type_from(text);
                                        if (!type)
                                          throw UsageError(name, text,
                                                           fmt::format("no such type; there are {}", data_type_names));
                                        variable = *type;
                                      },
                                      [&variable] { return std::string(commlens::name(variable)); },
                                      [&variable] { return std::string(commlens::name(variable)); }});
}

OptionSet::Option& OptionSet::add_choice(const std::string& name, std::string& variable,
                                         const std::vector<std::string>& words, std::string help) {
  help += fmt::format(" ({})", fmt::join(words, ", "));
  return options_.emplace_back(Option{name, std::move(help), false,
                                      [&variable, name, words](const std::string& text) {
                                        if (std::find(words.begin(), words.end(), text) == words.end())
                                          throw UsageError(name, text.empty() ? "''" : text,
                                                           fmt::format("write {}", fmt::join(words, " or ")));
                                        variable = text;
                                      },
                                      [&variable] { return variable; }, [&variable] { return variable; }});
}

OptionSet::Option& OptionSet::add_variants(const std::string& name, Variants& variable, const std::string& every,
                                           std::string help) {
  if (variants_ != nullptr) throw std::logic_error("a benchmark has at most one option with variants");
  variants_ = &variable;
  variants_index_ = options_.size();
  return options_.emplace_back(
      Option{name, std::move(help), false,
             [&variable, name, every](const std::string& text) {
               const bool known = std::find(variable.all.begin(), variable.all.end(), text) != variable.all.end();
               if (!known && text != every) {
                 throw UsageError(name, text.empty() ? "''" : text,
                                  fmt::format("write {} or {}", fmt::join(variable.all, " or "), every));
               }
               variable.chosen = known ? std::vector<std::string>{text} : variable.all;
               variable.current = variable.chosen.front();
             },
             [&variable] { return variable.current; },
             [&variable, every] { return variable.chosen == variable.all ? every : variable.chosen.front(); }});
}

OptionSet::Option& OptionSet::add_text(const std::string& name, std::function<void(const std::string&)> parse,
                                       const std::function<std::string()>& text, std::string help) {
  const auto value = [text]() -> std::optional<measure::Value> { return text(); };
  return options_.emplace_back(Option{name, std::move(help), false, std::move(parse), value, text});
}

OptionSet::Option& OptionSet::add_trace(std::string& variable) {
  trace_ = &variable;
  return options_.emplace_back(
      Option{"trace", "write the timeline of an operation, for ui.perfetto.dev, to this file", false,
             [&variable](const std::string& text) {
               if (text.empty()) throw UsageError("trace", "''", "name a file");
               variable = text;
             },
             []() -> std::optional<measure::Value> { return std::nullopt; }, [] { return std::string("none"); }});
}

OptionSet::Option& OptionSet::add_flag(const std::string& name, const std::string& opposite, bool& variable,
                                       std::string help) {
  return options_.emplace_back(Option{name + "," + opposite, std::move(help), true,
                                      [&variable, opposite](const std::string& text) { variable = text != opposite; },
                                      [&variable] { return variable; },
                                      [&variable, name, opposite] { return variable ? name : opposite; }});
}

const OptionSet::Option* OptionSet::size() const {
  if (sweep_ != nullptr && !sweep_->values.empty()) return &options_[sweep_index_];
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [](const Option& option) { return option.sizes && option.value().has_value(); });
  return found == options_.end() ? nullptr : &*found;
}

std::string OptionSet::variants_name() const { return parameter_name(options_.at(variants_index_).name); }

measure::Parameters OptionSet::parameters() const {
  measure::Parameters parameters;
  for (const Option& option : options_) {
    if (auto value = option.value()) parameters.emplace_back(parameter_name(option.name), *value);
  }
  return parameters;
}

}  // namespace commlens

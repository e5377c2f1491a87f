// A benchmark's options: declared once, they make the command line, its help, its errors, and the parameters of records
// with their roles.
//
// Options are values. A start has one object of them; each case has a copy in which a sweep and a choice have one
// value.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"
#include "base/error.hpp"
#include "base/parse.hpp"
#include "measure/record.hpp"

namespace commlens {

/// An option over whose values the harness sweeps: each is a case. Without values there is one case, and its record
/// does not show the option.
struct Sweep {
  std::vector<std::size_t> values;

  Sweep() = default;
  /// from, 2 from, 4 from ... up to `to`.
  Sweep(std::size_t from, std::size_t to, std::size_t factor = 2);

  [[nodiscard]] bool empty() const { return values.empty(); }
  [[nodiscard]] std::size_t largest() const;  ///< 0 without values
  /// Of a case, which has one value; throws std::logic_error otherwise.
  [[nodiscard]] std::size_t value() const;
  operator std::size_t() const { return value(); }  // NOLINT(google-explicit-constructor): reads as the size that it is
};

/// A sweep over sizes in bytes.
struct Sizes : Sweep {
  using Sweep::Sweep;
};

/// An option that may have several values of an enumeration, which belong together: each is a case, and they are
/// compared.
template <NamedEnum Enum>
struct Choices {
  std::vector<Enum> values = all_values<Enum>();

  /// Of a case, which has one value; throws std::logic_error otherwise.
  [[nodiscard]] Enum value() const {
    if (values.size() != 1) throw std::logic_error("several choices where a case has one");
    return values.front();
  }
  operator Enum() const { return value(); }  // NOLINT(google-explicit-constructor)
};

class Option {
 public:
  using Parse = std::function<void(const std::string& text)>;
  using Text = std::function<std::string()>;
  using Value = std::function<std::optional<measure::Value>()>;

  Option(std::string name, std::string help, Parse parser, Text shown, Value recorded)
      : parse(std::move(parser)),
        text(std::move(shown)),
        value(std::move(recorded)),
        name_(std::move(name)),
        help_(std::move(help)) {}

  Option& role(measure::Role role) {
    role_ = role;
    return *this;
  }
  /// How help and errors show it, such as a default that depends on the machine.
  Option& shown_as(Text shown) {
    text = std::move(shown);
    return *this;
  }
  /// What the record shows; nothing: the record does not show it.
  Option& recorded_as(Value recorded) {
    value = std::move(recorded);
    return *this;
  }
  /// Its value is that of each rank: with more ranks the problem grows.
  Option& per_rank() {
    per_rank_ = true;
    return *this;
  }
  /// It says how large a case is: the one to name when a case does not fit.
  Option& sets_the_size() {
    sets_size_ = true;
    return *this;
  }

  [[nodiscard]] const std::string& name() const { return name_; }          ///< without the dashes
  [[nodiscard]] const std::string& opposite() const { return opposite_; }  ///< of a flag; empty: it takes a value
  [[nodiscard]] const std::string& help() const { return help_; }
  [[nodiscard]] measure::Role role() const { return role_; }
  [[nodiscard]] const std::string& unit() const { return unit_; }
  [[nodiscard]] bool is_size() const { return sets_size_; }
  [[nodiscard]] bool is_per_rank() const { return per_rank_; }
  /// As a record names it: with underscores for hyphens.
  [[nodiscard]] std::string parameter() const;

  Parse parse;  ///< throws UsageError
  Text text;
  Value value;

 private:
  friend class OptionSet;

  std::string name_;
  std::string help_;
  std::string opposite_;
  std::string unit_;
  measure::Role role_ = measure::Role::setting;
  bool sets_size_ = false;
  bool per_rank_ = false;
};

class OptionSet {
 public:
  /// The variables belong to the caller and must outlive the set; what they hold now is the default.
  /// The option that is returned may be adjusted until the next one is added.
  Option& add(const std::string& name, std::size_t& variable, std::string help);
  Option& add(const std::string& name, double& variable, const Range& range, std::string help);
  /// A count that may be 0, for none: then the record does not show it.
  Option& add_count_or_none(const std::string& name, std::size_t& variable, std::string help);
  /// At most one in a set, Sizes among them.
  Option& add(const std::string& name, Sweep& variable, std::string help);
  Option& add(const std::string& name, Sizes& variable, std::string help);
  /// Two flags, `--name` and `--opposite`.
  Option& add_flag(const std::string& name, const std::string& opposite, bool& variable, std::string help);
  /// Anything that `parse` takes and `text` shows.
  Option& add_text(const std::string& name, Option::Parse parse, const Option::Text& text, std::string help);
  /// The file for the timelines of the benchmark's operations (TimelineFile): `--timeline`. No parameter.
  Option& add_timeline(std::string& variable);

  template <NamedEnum Enum>
  Option& add(const std::string& name, Enum& variable, const std::string& help);
  /// Without a value the record does not show it.
  template <NamedEnum Enum>
  Option& add(const std::string& name, std::optional<Enum>& variable, const std::string& help);
  /// One of the enumeration's words, or `every`, which stands for all of them. At most one in a set.
  template <NamedEnum Enum>
  Option& add(const std::string& name, Choices<Enum>& variable, const std::string& every, const std::string& help);

  [[nodiscard]] const std::vector<Option>& options() const { return options_; }
  /// The one that says how large a case is: the first that is so marked and in the record, else the sweep if it has
  /// values; nullptr if there is neither.
  [[nodiscard]] const Option* size() const;
  /// The file that --timeline names; empty: none.
  [[nodiscard]] std::string timeline() const { return timeline_ == nullptr ? "" : *timeline_; }
  [[nodiscard]] Sweep* sweep() const { return sweep_; }       ///< nullptr: none
  [[nodiscard]] bool sweeps_bytes() const { return sizes_; }  ///< the sweep is over sizes in bytes
  /// Choices that a start compares: 1 where there is nothing to compare.
  [[nodiscard]] std::size_t choices() const { return choices_ ? choices_() : 1; }
  /// Leaves one of them.
  void choose(std::size_t index) const {
    if (choose_) choose_(index);
  }
  /// What records have of the options, with the roles.
  [[nodiscard]] measure::Parameters parameters() const;
  [[nodiscard]] std::vector<measure::ParameterDeclaration> declarations() const;

 private:
  template <NamedEnum Enum>
  static Enum parse_word(const std::string& option, const std::string& text);
  /// "pairwise or neighbor or host". This header is not to include {fmt}: nvcc does not compile version 9 of it.
  static std::string joined(const std::vector<std::string>& words, const std::string& separator);
  [[nodiscard]] measure::Role role_of(const Option& option) const;

  std::vector<Option> options_;
  Sweep* sweep_ = nullptr;
  bool sizes_ = false;
  std::size_t sweep_index_ = 0;    ///< of its option
  std::size_t choices_index_ = 0;  ///< likewise
  std::function<std::size_t()> choices_;
  std::function<void(std::size_t)> choose_;
  const std::string* timeline_ = nullptr;
};

template <NamedEnum Enum>
Enum OptionSet::parse_word(const std::string& option, const std::string& text) {
  if (const auto value = from_name<Enum>(text)) return *value;
  throw UsageError(option, text.empty() ? "''" : text, "write " + joined(all_names<Enum>(), " or "));
}

template <NamedEnum Enum>
Option& OptionSet::add(const std::string& name, Enum& variable, const std::string& help) {
  const auto text = [&variable] { return std::string(commlens::name(variable)); };
  return options_.emplace_back(
      name, help + " (" + joined(all_names<Enum>(), ", ") + ")",
      [&variable, name](const std::string& word) { variable = parse_word<Enum>(name, word); }, text,
      [text]() -> std::optional<measure::Value> { return text(); });
}

template <NamedEnum Enum>
Option& OptionSet::add(const std::string& name, std::optional<Enum>& variable, const std::string& help) {
  return options_.emplace_back(
      name, help + " (" + joined(all_names<Enum>(), ", ") + ")",
      [&variable, name](const std::string& word) { variable = parse_word<Enum>(name, word); },
      [&variable] { return variable ? std::string(commlens::name(*variable)) : ""; },
      [&variable]() -> std::optional<measure::Value> {
        if (!variable) return std::nullopt;
        return std::string(commlens::name(*variable));
      });
}

template <NamedEnum Enum>
Option& OptionSet::add(const std::string& name, Choices<Enum>& variable, const std::string& every,
                       const std::string& help) {
  if (choices_) throw std::logic_error("a benchmark has at most one option with several choices");
  choices_index_ = options_.size();
  choices_ = [&variable] { return variable.values.size(); };
  choose_ = [&variable](std::size_t index) { variable.values = {variable.values.at(index)}; };
  return options_.emplace_back(
      name, help + " (" + joined(all_names<Enum>(), ", ") + ", or " + every + ")",
      [&variable, name, every](const std::string& word) {
        if (word == every) {
          variable.values = all_values<Enum>();
        } else if (const auto value = from_name<Enum>(word)) {
          variable.values = {*value};
        } else {
          throw UsageError(name, word.empty() ? "''" : word,
                           "write " + joined(all_names<Enum>(), " or ") + " or " + every);
        }
      },
      [&variable, every] {
        return variable.values.size() > 1 ? every : std::string(commlens::name(variable.values.front()));
      },
      [&variable]() -> std::optional<measure::Value> { return std::string(commlens::name(variable.values.front())); });
}

}  // namespace commlens

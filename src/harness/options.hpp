// A benchmark's options: declared once, they make the command line, its help, its errors and the record's parameters.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "measure/record.hpp"
#include "transport/transport.hpp"

namespace commlens {

/// An option that takes one value a case: the harness runs the benchmark once for each, and `current` is the one at
/// hand. Without values there is one case, of which the record does not show the option.
struct Sweep {
  std::vector<std::size_t> values;
  std::size_t current = 0;

  Sweep() = default;
  /// from, 2 from, 4 from ... up to `to`.
  Sweep(std::size_t from, std::size_t to, std::size_t factor = 2);
  /// Neither asked for nor chosen by the benchmark: there is no such parameter.
  [[nodiscard]] bool none() const { return values.empty() && current == 0; }
  operator std::size_t() const { return current; }  // NOLINT(google-explicit-constructor): reads as the size that it is
};

/// An option that takes one word a case: they belong together, and the harness runs the benchmark for each in turn.
struct Variants {
  std::vector<std::string> all;     ///< that there are
  std::vector<std::string> chosen;  ///< of them
  std::string current;              ///< the one at hand
};

/// "4096", "8K", "1G" (binary multiples) or "1e7"; at least 1. Throws UsageError naming `option`.
std::size_t parse_size(const std::string& option, const std::string& text);
/// The same, and 0.
std::size_t parse_count(const std::string& option, const std::string& text);
/// "8", "8:1G" (times 2), "8:1G:x8" (times 8) or a list "8,1000,1M" of these. Throws UsageError naming `option`.
std::vector<std::size_t> parse_sizes(const std::string& option, const std::string& text);

class OptionSet {
 public:
  struct Option {
    std::string name;
    std::string help;
    bool flag = false;
    std::function<void(const std::string& text)> parse;    ///< throws UsageError
    std::function<std::optional<measure::Value>()> value;  ///< as the record shows it; nothing: left to others
    std::function<std::string()> text;                     ///< as help and errors show it
    bool sizes = false;  ///< it says how large a case is where there is no sweep: the one to name when it does not fit
  };

  /// The variables belong to the caller and must outlive the set; what they hold now is the default.
  /// The option that is returned may be adjusted until the next one is added.
  Option& add(const std::string& name, std::size_t& variable, std::string help);
  Option& add(const std::string& name, Sweep& variable, std::string help);
  Option& add(const std::string& name, std::optional<device::Memory>& variable, std::string help);
  Option& add(const std::string& name, DataType& variable, std::string help);
  /// One of a few words.
  Option& add_choice(const std::string& name, std::string& variable, const std::vector<std::string>& words,
                     std::string help);
  /// One of a few words, or `every`, which stands for all of them.
  Option& add_variants(const std::string& name, Variants& variable, const std::string& every, std::string help);
  /// Anything that `parse` takes and `text` shows.
  Option& add_text(const std::string& name, std::function<void(const std::string&)> parse,
                   const std::function<std::string()>& text, std::string help);
  /// The file for the timelines of the benchmark's operations (harness/trace_file.hpp): `--trace`. No parameter of the
  /// record.
  Option& add_trace(std::string& variable);
  /// Two flags, `--name` and `--opposite`.
  Option& add_flag(const std::string& name, const std::string& opposite, bool& variable, std::string help);

  [[nodiscard]] const std::vector<Option>& options() const { return options_; }
  [[nodiscard]] Sweep* sweep() const { return sweep_; }  ///< at most one; nullptr: a single case
  /// Its option's name; there must be one.
  [[nodiscard]] const std::string& sweep_name() const { return options_.at(sweep_index_).name; }
  [[nodiscard]] Variants* variants() const { return variants_; }  ///< at most one option; nullptr: none
  /// Its option's name, as in parameters(); there must be one.
  [[nodiscard]] std::string variants_name() const;
  /// The one that says how large a case is: the sweep if it has values, else the first that is marked and in the
  /// record; nullptr if none is.
  [[nodiscard]] const Option* size() const;
  /// The file that add_trace()'s option names; empty: none.
  [[nodiscard]] std::string trace() const { return trace_ == nullptr ? "" : *trace_; }
  /// By name, with underscores for hyphens.
  [[nodiscard]] measure::Parameters parameters() const;

 private:
  std::vector<Option> options_;
  Sweep* sweep_ = nullptr;
  std::size_t sweep_index_ = 0;  ///< of its option
  Variants* variants_ = nullptr;
  std::size_t variants_index_ = 0;  ///< of its option
  const std::string* trace_ = nullptr;
};

}  // namespace commlens

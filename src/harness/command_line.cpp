#include "harness/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <iostream>
#include <iterator>

#include "base/error.hpp"
#include "base/json.hpp"
#include "harness/listing.hpp"

namespace commlens {

namespace {

constexpr const char* usage = R"(commlens-bench measures the communication patterns of applications.

Usage: mpirun -n RANKS commlens-bench BENCHMARK [options]
       commlens-bench BENCHMARK --help
       commlens-bench --list [--format json] | --metrics [--format json] | --about | --version
       commlens-bench --check | --memory < COMMAND_LINES

Example: mpirun -n 2 commlens-bench latency --bytes 8:1M --transport mpi,staged --record latency.jsonl

Benchmarks:
)";

BenchmarkDescription find_benchmark(const std::string& name) {
  std::vector<std::string> names;
  for (const BenchmarkDescription& benchmark : benchmarks()) {
    if (benchmark.name == name) return benchmark;
    names.push_back(benchmark.name);
  }
  throw UsageError(fmt::format("no benchmark '{}'; there are {}", name, fmt::join(names, ", ")));
}

void add_benchmark_options(CLI::App& app, const OptionSet& set) {
  for (const Option& option : set.options()) {
    if (option.opposite().empty()) {
      add_option(app, option.name(), option.help(), option.text(), option.parse);
      continue;
    }
    for (const std::string& flag : {option.name(), option.opposite()}) {
      const std::string standard = option.text() == flag ? " [default]" : "";
      app.add_flag_callback("--" + flag, [parse = option.parse, flag] { parse(flag); }, option.help() + standard);
    }
  }
}

bool is_flag(const CLI::App& app, const std::string& word) {
  const auto* option = word.starts_with("--") ? app.get_option_no_throw(word) : nullptr;
  return option != nullptr && option->get_expected_max() == 0;
}

/// `--flag=value` and `--flag value`: CLI11 would ignore the first, and not know what the second means.
void refuse_values_of_flags(const CLI::App& app, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (!is_flag(app, name)) continue;
    const bool is_followed = i + 1 < words.size() && !words[i + 1].starts_with('-');
    if (name == words[i] && !is_followed) continue;
    const std::string value = is_followed ? words[i + 1] : words[i].substr(name.size() + 1);
    throw UsageError(name.substr(2), value, "it has no value; write " + name + " alone, or leave it out");
  }
}

void refuse_opposites(const CLI::App& app, const OptionSet& set) {
  for (const Option& option : set.options()) {
    if (option.opposite().empty()) continue;
    const std::string positive = "--" + option.name();
    const std::string opposite = "--" + option.opposite();
    if (app.count(positive) == 0 || app.count(opposite) == 0) continue;
    throw UsageError(fmt::format("{} beside {}: they say the opposite; leave one of them out", positive, opposite));
  }
}

/// CLI11's mistakes in our words: "--bytes: At Most 1 required but received 2".
[[noreturn]] void refuse_in_our_words(const CLI::ParseError& error, const std::string& help) {
  const std::string message = error.what();
  const std::string option = message.substr(0, message.find(':'));
  if (message.find("At Most") != std::string::npos) {
    throw UsageError(fmt::format("{}: it is given twice; leave one of them out ({})", option, help));
  }
  if (message.find("missing") != std::string::npos) {
    throw UsageError(fmt::format("{}: its value is missing; {} shows what it takes", option, help));
  }
  throw UsageError(fmt::format("{}; see {}", message, help));
}

[[noreturn]] void refuse_unknown_option(const CLI::App& app, const std::string& word, const std::string& help) {
  const std::string option = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const auto* known : app.get_options()) names.push_back(known->get_name());
  const std::string near = option.starts_with("--") ? nearest(option, names) : "";
  throw UsageError(near.empty() ? fmt::format("no option '{}'; see {}", option, help)
                                : fmt::format("no option '{}': did you mean {}? See {}", option, near, help));
}

CommandLine parse_benchmark(const std::vector<std::string>& words, const std::string& program) {
  CommandLine line;
  const auto description = find_benchmark(words.front());
  const std::string help = fmt::format("{} {} --help", program, description.name);
  line.benchmark = description.make();
  line.communicates_in_threads = description.communicates_in_threads;
  line.measures_mpi_init = description.measures_mpi_init;
  CLI::App app(
      description.help + "\nExample: mpirun -n 2 commlens-bench " + description.name + " --record results.jsonl",
      "commlens-bench " + description.name);
  app.option_defaults()->always_capture_default(false);
  app.allow_extras();
  add_benchmark_options(app, line.benchmark->options());
  add_settings(app, line.settings);
  refuse_values_of_flags(app, words);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend() - 1));
  } catch (const CLI::CallForHelp&) {
    line.text = app.help();
    line.benchmark.reset();
    return line;
  } catch (const CLI::ParseError& error) {
    refuse_in_our_words(error, help);
  }
  if (!app.remaining().empty()) refuse_unknown_option(app, app.remaining().front(), help);
  refuse_opposites(app, line.benchmark->options());
  refuse_contradictions(line.settings, line.benchmark->declaration());
  return line;
}

Json mistake_in(const Json& command) {
  const auto words = command.at("words").get<std::vector<std::string>>();
  try {
    const CommandLine line = parse(words, "commlens run");
    if (line.benchmark == nullptr) return "--help: it measures nothing; leave it out";
    line.benchmark->resolve(command.at("ranks").get<int>());
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// Bytes of the buffers of the rank that has most; nothing where the command line is wrong.
Json memory_of(const Json& command) {
  const auto words = command.at("words").get<std::vector<std::string>>();
  const int ranks = command.at("ranks").get<int>();
  double most = 0;
  try {
    const CommandLine line = parse(words, "commlens run");
    if (line.benchmark == nullptr) return nullptr;
    line.benchmark->resolve(ranks);
    for (const CaseGroup& group : line.benchmark->cases()) {
      for (const auto& variant : group) {
        for (int rank = 0; rank < ranks; ++rank) most = std::max(most, variant->memory_estimate(rank, ranks).buffers);
      }
    }
  } catch (const UsageError&) {
    return nullptr;
  }
  return most;
}

/// One answer for each command line.
std::string answers(std::istream& input, const std::string& question, Json (*answer)(const Json& command)) {
  try {
    auto all = Json::array();
    for (const Json& command : parse_json(std::string(std::istreambuf_iterator<char>(input), {})))
      all.push_back(answer(command));
    return line_of(all) + "\n";
  } catch (const Json::exception& error) {
    throw UsageError(fmt::format("{}: not a list of command lines ({})", question, error.what()));
  }
}

}  // namespace

CommandLine parse(const std::vector<std::string>& words, const std::string& program) {
  const std::string first = words.empty() ? "--help" : words[0];
  const bool as_json = words.size() == 3 && words[1] == "--format" && words[2] == "json";
  CommandLine line;
  if (first == "--help" || first == "-h") {
    line.text = usage + listing::benchmarks_text();
  } else if (first == "--version") {
    line.text = fmt::format("commlens-bench {}\n", COMMLENS_VERSION);
  } else if (first == "--list") {
    line.text = as_json ? listing::benchmarks_json() : listing::benchmarks_text();
  } else if (first == "--metrics") {
    line.text = as_json ? listing::metrics_json() : listing::metrics_markdown();
  } else if (first == "--about") {
    line.text = listing::about_json();
  } else if (first == "--check") {
    line.text = check_command_lines(std::cin);
  } else if (first == "--memory") {
    line.text = memory_of_command_lines(std::cin);
  } else if (first.starts_with('-')) {
    throw UsageError(fmt::format("no option '{}' before the benchmark; see {} --help", first, program));
  } else {
    return parse_benchmark(words, program);
  }
  const bool has_format = as_json && (first == "--list" || first == "--metrics");
  if (words.size() > 1 && !has_format) {
    throw UsageError(fmt::format("{} takes no '{}'; see {} --help", first, words[1], program));
  }
  return line;
}

std::string check_command_lines(std::istream& input) { return answers(input, "--check", mistake_in); }

std::string memory_of_command_lines(std::istream& input) { return answers(input, "--memory", memory_of); }

}  // namespace commlens

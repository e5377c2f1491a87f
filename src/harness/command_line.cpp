#include "harness/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "device/device.hpp"
#include "harness/listing.hpp"
#include "harness/parse.hpp"
#include "harness/usage_error.hpp"
#include "measure/reporter.hpp"

namespace commlens {

namespace {

constexpr const char* usage = R"(commlens-bench measures the communication patterns of applications.

Usage: mpirun -n RANKS commlens-bench BENCHMARK [options]
       commlens-bench BENCHMARK --help
       commlens-bench --list [--format json] | --metrics [--format json] | --about | --version

Example: mpirun -n 2 commlens-bench latency --bytes 8:1M --transport mpi,staged --record latency.jsonl

Benchmarks:
)";

std::vector<std::string> reporter_names() {
  std::vector<std::string> names;
  for (const auto& reporter : measure::reporters()) names.push_back(reporter.name);
  return names;
}

BenchmarkDescription find_benchmark(const std::string& name) {
  const auto& all = benchmarks();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const auto& one : all) names.push_back(one.name);
  throw UsageError(fmt::format("no benchmark '{}'; there are {}", name, fmt::join(names, ", ")));
}

void add_option(CLI::App& app, const std::string& name, const std::string& help, const std::string& standard,
                const Option::Parse& parse) {
  auto* option = app.add_option_function<std::string>("--" + name, parse, help);
  option->option_text(standard.empty() ? "VALUE" : fmt::format("VALUE [{}]", standard));
}

void add_settings(CLI::App& app, Settings& settings) {
  const auto add = [&](const std::string& name, const std::string& help, const std::string& standard,
                       const Option::Parse& parse) { add_option(app, name, help, standard, parse); };
  add("transport", "communication paths: names separated by commas, or all (what cannot run here is skipped)",
      settings.transports, [&](const std::string& text) { settings.transports = text; });
  const std::string memories = fmt::format("{}", fmt::join(all_names<device::Memory>(), ", "));
  add("memory", "memory kind of the buffers: " + memories, "device if there is a GPU, else host",
      [&, memories](const std::string& text) {
        settings.memory = from_name<device::Memory>(text);
        if (!settings.memory) throw UsageError("memory", text, "no such memory; there are " + memories);
      });
  add("timing", "batch: operations back to back between two synchronizations; each: one", "by benchmark",
      [&](const std::string& text) {
        settings.timing = from_name<measure::Timing>(text);
        if (!settings.timing) throw UsageError("timing", text, "write batch or each");
      });
  add("repeat", "operations in a batch; with --timing each: samples", "by benchmark and size",
      [&](const std::string& text) { settings.repeat = parse_size("repeat", text); });
  add("warmup", "operations before the first sample", "by benchmark and size",
      [&](const std::string& text) { settings.warmup = parse_count("warmup", text); });
  add("batches", "batches, each a sample", "10",
      [&](const std::string& text) { settings.batches = parse_size("batches", text); });
  add("min-time", "add batches until so many seconds have been measured", "0",
      [&](const std::string& text) { settings.min_time_s = parse_number("min-time", text, {}); });
  add("until-ci", "add batches until the median's 95% interval is within so many percent, such as 2%", "off",
      [&](const std::string& text) { settings.until_ci_percent = parse_percent("until-ci", text, {}); });
  add("max-time", "seconds after which --min-time and --until-ci add no more", fmt::format("{:g}", settings.max_time_s),
      [&](const std::string& text) { settings.max_time_s = parse_number("max-time", text, {}); });
  add("timeout", "end a run in which no rank has made progress for so many seconds; 0: never",
      fmt::format("{:g}", settings.timeout_s),
      [&](const std::string& text) { settings.timeout_s = parse_number("timeout", text, {}); });
  add("format", fmt::format("of the output: {}", fmt::join(reporter_names(), ", ")), settings.format,
      [&](const std::string& text) {
        const auto names = reporter_names();
        if (std::find(names.begin(), names.end(), text) == names.end()) {
          throw UsageError("format", text, fmt::format("no such format; there are {}", fmt::join(names, ", ")));
        }
        settings.format = text;
      });
  add("record", "append a line of JSON per result to this file", "none", [&](const std::string& text) {
    if (text.empty()) throw UsageError("record", "''", "name a file");
    settings.record = text;
  });
  add("gpu-aware-mpi-off", "do not pass GPU memory to MPI, for the reason given", "none",
      [&](const std::string& text) { settings.gpu_aware_mpi_off = text; });
  app.add_flag_callback("--no-ceilings", [&] { settings.ceilings = false; }, "do not measure what the hardware gives");
  app.add_flag_callback("--no-parts", [&] { settings.parts = false; }, "do not measure parts of an operation");
  app.add_flag_callback(
      "--no-validate", [&] { settings.validate = false; }, "do not compare results with what they must be");
}

void add_own_options(CLI::App& app, const OptionSet& set) {
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

CommandLine parse_benchmark(int argc, char** argv) {
  CommandLine line;
  const auto description = find_benchmark(argv[1]);
  line.benchmark = description.make();
  CLI::App app(
      description.help + "\nExample: mpirun -n 2 commlens-bench " + description.name + " --record results.jsonl",
      "commlens-bench " + description.name);
  app.option_defaults()->always_capture_default(false);
  app.allow_extras();
  add_own_options(app, line.benchmark->options());
  add_settings(app, line.settings);
  try {
    app.parse(argc - 1, argv + 1);
  } catch (const CLI::CallForHelp&) {
    line.text = app.help();
    line.benchmark.reset();
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}; see commlens-bench {} --help", error.what(), description.name));
  }
  if (!app.remaining().empty()) {
    throw UsageError(
        fmt::format("no option '{}'; see commlens-bench {} --help", app.remaining().front(), description.name));
  }
  return line;
}

}  // namespace

CommandLine parse(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "--help";
  const std::string rest = argc > 3 ? std::string(argv[2]) + " " + argv[3] : "";
  CommandLine line;
  if (first == "--help" || first == "-h") {
    line.text = usage + listing::benchmarks_text();
  } else if (first == "--version") {
    line.text = fmt::format("commlens-bench {}\n", COMMLENS_VERSION);
  } else if (first == "--list") {
    line.text = rest == "--format json" ? listing::benchmarks_json() : listing::benchmarks_text();
  } else if (first == "--metrics") {
    line.text = rest == "--format json" ? listing::metrics_json() : listing::metrics_markdown();
  } else if (first == "--about") {
    line.text = listing::about_json();
  } else if (first.starts_with("-")) {
    throw UsageError(fmt::format("no option '{}' before the benchmark; see commlens-bench --help", first));
  } else {
    return parse_benchmark(argc, argv);
  }
  return line;
}

}  // namespace commlens

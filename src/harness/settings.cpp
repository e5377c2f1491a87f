#include "harness/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "measure/reporter.hpp"
#include "measure/sampling.hpp"
#include "transport/transport.hpp"

namespace commlens {

namespace {

constexpr std::size_t most_operations = 1'000'000'000;  // of a batch: minutes, even where each takes no time
constexpr double least_timeout_s = 0.1;                 // the watchdog looks five times per second
constexpr std::size_t longest_name = 40;                // of what is none, in a message

std::vector<std::string> reporter_names() {
  std::vector<std::string> names;
  for (const auto& reporter : measure::reporters()) names.push_back(reporter.name);
  return names;
}

/// For a name that a transport or a kind of memory has elsewhere.
std::string advice(const std::string& text) {
  if (text == "nccl" || text == "rccl") return "did you mean ccl? ";
  return text == "gpu" || text == "cuda" || text == "hip" ? "did you mean device? " : "";
}

/// "all", or names separated by commas, of which each is known.
std::string parse_transports(const std::string& text) {
  std::vector<std::string> names;
  for (const auto& transport : transport::all()) names.push_back(transport.name);
  if (text == "all") return text;
  std::vector<std::string> chosen;
  for (const std::string& name : split(text, ',')) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw UsageError("transport", text,
                       fmt::format("no transport '{}'; {}there are {}, or all", name.substr(0, longest_name),
                                   advice(name), fmt::join(names, ", ")));
    }
    if (std::find(chosen.begin(), chosen.end(), name) != chosen.end()) {
      throw UsageError("transport", text, fmt::format("{} is in it twice; leave one of them out", name));
    }
    chosen.push_back(name);
  }
  return text;
}

double parse_timeout(const std::string& text) {
  const double seconds = parse_number("timeout", text, {});
  if (seconds == 0 || seconds >= least_timeout_s) return seconds;
  throw UsageError("timeout", text, fmt::format("write at least {:g} seconds, or 0 for never", least_timeout_s));
}

}  // namespace

void add_option(CLI::App& app, const std::string& name, const std::string& help, const std::string& standard,
                const Option::Parse& parse) {
  auto* option = app.add_option_function<std::string>("--" + name, parse, help);
  option->option_text(standard.empty() ? "VALUE" : fmt::format("VALUE [{}]", standard));
}

void add_settings(CLI::App& app, Settings& settings) {
  const auto add = [&](const std::string& name, const std::string& help, const std::string& standard,
                       const Option::Parse& parse) { add_option(app, name, help, standard, parse); };
  add("transport", "communication paths: names separated by commas, or all (what cannot run here is skipped)",
      settings.transports, [&](const std::string& text) { settings.transports = parse_transports(text); });
  add("expect-ranks", "refuse to run on another number of ranks", "any",
      [&](const std::string& text) { settings.expect_ranks = parse_size("expect-ranks", text); });
  const std::string levels = fmt::format("{}", fmt::join(all_names<transport::ThreadLevel>(), ", "));
  add("thread-level", "of MPI_Init_thread: " + levels, std::string(name(settings.thread_level)),
      [&, levels](const std::string& text) {
        const auto level = from_name<transport::ThreadLevel>(text);
        if (!level) throw UsageError("thread-level", text, "no such level; there are " + levels);
        settings.thread_level = *level;
      });
  const std::string memories = fmt::format("{}", fmt::join(all_names<device::Memory>(), ", "));
  add("memory", "memory kind of the buffers: " + memories, "device if there is a GPU, else host",
      [&, memories](const std::string& text) {
        settings.memory = from_name<device::Memory>(text);
        if (!settings.memory)
          throw UsageError("memory", text, fmt::format("no such memory; {}there are {}", advice(text), memories));
      });
  add("timing", "batch: operations back to back between two synchronizations; each: one", "by benchmark",
      [&](const std::string& text) {
        settings.timing = from_name<measure::Timing>(text);
        if (!settings.timing) throw UsageError("timing", text, "write batch or each");
      });
  add("repeat", "operations in a batch; with --timing each: samples", "by benchmark and size",
      [&](const std::string& text) { settings.repeat = parse_size("repeat", text, most_operations); });
  add("warmup", "operations before the first sample", "by benchmark and size",
      [&](const std::string& text) { settings.warmup = parse_count("warmup", text, most_operations); });
  add("batches", "batches, each a sample", "10",
      [&](const std::string& text) { settings.batches = parse_size("batches", text, measure::most_samples); });
  add("min-time", "add batches until so many seconds have been measured", "0",
      [&](const std::string& text) { settings.min_time_s = parse_number("min-time", text, {}); });
  add("until-ci", "add batches until the median's 95% interval is within so many percent, such as 2%", "off",
      [&](const std::string& text) { settings.until_ci_percent = parse_percent("until-ci", text, {}); });
  add("max-time", "seconds after which no batch is added, not even one of --batches",
      fmt::format("{:g}, for --min-time and --until-ci", measure::Repetition{}.max_time_s),
      [&](const std::string& text) { settings.max_time_s = parse_number("max-time", text, {}); });
  add("timeout", "end a run in which no rank has made progress for so many seconds; 0: never",
      fmt::format("{:g}", settings.timeout_s),
      [&](const std::string& text) { settings.timeout_s = parse_timeout(text); });
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
  add("gpu-aware-mpi-off", "do not pass GPU memory to MPI, for the reason given", "none", [&](const std::string& text) {
    if (text.empty()) throw UsageError("gpu-aware-mpi-off", text, "write the reason, which records have");
    settings.gpu_aware_mpi_off = text;
  });
  app.add_flag_callback("--no-ceilings", [&] { settings.ceilings = false; }, "do not measure what the hardware gives");
  app.add_flag_callback(
      "--no-parts", [&] { settings.parts = false; },
      "do not measure parts of an operation, nor find out which algorithm the MPI library has taken");
  app.add_flag_callback(
      "--no-validate", [&] { settings.validate = false; }, "do not compare results with what they must be");
}

void refuse_contradictions(const Settings& settings, const measure::BenchmarkDeclaration& benchmark) {
  const double max_time_s = settings.max_time_s.value_or(measure::Repetition{}.max_time_s);
  if (settings.min_time_s > max_time_s) {
    throw UsageError("min-time", fmt::format("{:g}", settings.min_time_s),
                     fmt::format("longer than --max-time {:g}: raise that, too", max_time_s));
  }
  const std::size_t repeat = settings.repeat.value_or(0);
  if (settings.timing == measure::Timing::each && repeat > measure::most_samples) {
    throw UsageError("repeat", std::to_string(repeat),
                     fmt::format("each is a sample, of which {} can be kept: write fewer", measure::most_samples));
  }
  std::vector<std::string> suitable;
  for (const auto& reporter : measure::reporters()) {
    if (reporter.can_print(benchmark)) suitable.push_back(reporter.name);
  }
  if (std::find(suitable.begin(), suitable.end(), settings.format) != suitable.end()) return;
  throw UsageError("format", settings.format,
                   fmt::format("it has no layout for {}; write {}", benchmark.name, fmt::join(suitable, ", ")));
}

std::string nearest(const std::string& name, const std::vector<std::string>& names) {
  std::string best;
  std::size_t least = name.size() / 3 + 1;  // more wrong characters are another word
  for (const std::string& other : names) {
    std::vector<std::size_t> distances(other.size() + 1);  // Levenshtein's, of what has been read of `name`
    std::iota(distances.begin(), distances.end(), std::size_t{0});
    for (std::size_t i = 0; i < name.size(); ++i) {
      std::size_t diagonal = std::exchange(distances[0], i + 1);
      for (std::size_t j = 0; j < other.size(); ++j) {
        const std::size_t changed = diagonal + (name[i] == other[j] ? 0 : 1);
        diagonal = distances[j + 1];
        distances[j + 1] = std::min({changed, distances[j] + 1, diagonal + 1});
      }
    }
    if (distances.back() < least) {
      least = distances.back();
      best = other;
    }
  }
  return best;
}

}  // namespace commlens

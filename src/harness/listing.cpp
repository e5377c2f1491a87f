#include "harness/listing.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "device/device.hpp"
#include "harness/benchmark.hpp"
#include "measure/record_json.hpp"
#include "measure/reporter.hpp"
#include "transport/mpi_library.hpp"
#include "transport/transport.hpp"

namespace commlens::listing {

namespace {

template <class Items, class Predicate>
std::vector<std::string> names_in(const Items& items, Predicate predicate) {
  std::vector<std::string> names;
  for (const auto& item : items) {
    if (predicate(item)) names.push_back(item.name);
  }
  return names;
}

Json options_of(const BenchmarkDescription& description) {
  auto options = Json::array();
  const auto benchmark = description.make();
  for (const Option& option : benchmark->options().options()) {
    options.push_back({{"name", option.name()},
                       {"opposite", option.opposite()},
                       {"default", option.text()},
                       {"help", option.help()},
                       {"role", name(option.role())},
                       {"unit", option.unit()}});
  }
  return options;
}

std::string descriptions_json(bool with_options) {
  auto all = Json::array();
  for (const auto& description : benchmarks()) {
    Json entry{{"name", description.name}};
    if (with_options) entry.update({{"description", description.help}, {"options", options_of(description)}});
    entry["metrics"] = measure::to_json(measure::with_time(description.metrics));
    entry["facts"] = measure::to_json(description.facts);
    all.push_back(std::move(entry));
  }
  return all.dump(1) + "\n";
}

std::string row(std::string_view benchmark, const measure::Metric& metric) {
  return fmt::format("| {} | `{}` | {} | {} | {} |\n", benchmark, metric.name, metric.unit.text, name(metric.better),
                     metric.definition);
}

}  // namespace

std::string benchmarks_text() {
  std::string text;
  for (const auto& benchmark : benchmarks()) text += fmt::format("  {:<26}{}\n", benchmark.name, benchmark.help);
  return text;
}

std::string benchmarks_json() { return descriptions_json(true); }
std::string metrics_json() { return descriptions_json(false); }

std::string metrics_markdown() {
  std::string text = "| benchmark | metric | unit | better | definition |\n| --- | --- | --- | --- | --- |\n";
  text += row("all", measure::time_us);
  for (const auto& description : benchmarks()) {
    for (const measure::Metric& metric : description.metrics) {
      if (metric.name != measure::time_us.name || metric.definition != measure::time_us.definition) {
        text += row(fmt::format("`{}`", description.name), metric);
      }
    }
  }
  text += "\n| benchmark | fact | unit | definition |\n| --- | --- | --- | --- |\n";
  for (const auto& description : benchmarks()) {
    for (const measure::Fact& fact : description.facts) {
      text += fmt::format("| `{}` | `{}` | {} | {} |\n", description.name, fact.name, fact.unit.text, fact.definition);
    }
  }
  return text;
}

std::string about_json() {
  const Json about{
      {"version", COMMLENS_VERSION},
      {"backend", device::backend()},
      {"gpus", device::gpu_count()},
      {"transports", names_in(transport::all(), [](const auto& transport) { return transport.built; })},
      {"probed_transports",
       names_in(transport::all(), [](const auto& transport) { return transport.passes_gpu_memory_to_mpi; })},
      {"formats", names_in(measure::reporters(), [](const auto&) { return true; })},
      {"mpi", transport::mpi_library()},
      {"mpi_family", transport::mpi_family()}};
  return line_of(about) + "\n";
}

}  // namespace commlens::listing

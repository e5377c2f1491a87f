#include "measure/reporters/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <variant>

#include "base/format.hpp"

namespace commlens::measure {

std::string commlens_version(const Start& start) {
  const auto version = start.versions.find("commlens");
  return version == start.versions.end() ? "unknown" : version->second;
}

std::optional<std::int64_t> integer_parameter(const Record& record, std::string_view name) {
  const Value* value = record.parameter(name);
  const auto* integer = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
  return integer != nullptr ? std::optional(*integer) : std::nullopt;
}

const CaseMetric* find_metric(const Record& record, std::string_view name) {
  const auto match = std::find_if(record.metrics.begin(), record.metrics.end(),
                                  [&](const CaseMetric& metric) { return metric.metric.name == name; });
  return match == record.metrics.end() ? nullptr : &*match;
}

double mean_time(const Record& record) {
  return std::accumulate(record.samples_s.begin(), record.samples_s.end(), 0.0) /
         static_cast<double>(record.samples_s.size());
}

std::string settings_of(const Record& record) {
  std::string settings;
  for (const Parameter& parameter : record.parameters) {
    if (parameter.role != Role::setting) continue;
    settings += fmt::format("{}{}={}", settings.empty() ? "" : ", ", parameter.name, text_of(parameter.value));
  }
  return settings;
}

std::string single_line(std::string_view text) {
  std::string line;
  for (const char character : text) {
    if (character != '\n' && character != '\r') {
      line += character;
    } else if (!line.empty() && !line.ends_with("; ")) {
      line += "; ";
    }
  }
  if (line.ends_with("; ")) line.resize(line.size() - 2);
  return line;
}

std::string complaint(const Outcome& outcome) {
  return fmt::format("{}: {}", name(outcome.status),
                     outcome.reason.empty() ? "no reason given" : single_line(outcome.reason));
}

std::pair<std::string, std::string> memory_sides(const std::string& memory) {
  const std::size_t colon = memory.find(':');
  if (colon == std::string::npos) return {memory, memory};
  return {memory.substr(0, colon), memory.substr(colon + 1)};
}

namespace {

constexpr std::size_t most_placement_lines = 8;

std::string title_of(const Start& start) {
  std::string title = fmt::format("# commlens {}, backend {}", commlens_version(start), start.backend);
  for (const char* library : {"mpi", "ccl"}) {  // their versions begin with their names: "NCCL 2.28.3"
    const auto version = start.versions.find(library);
    if (version != start.versions.end()) title += ", " + single_line(version->second);
  }
  return title + '\n';
}

std::string gpu_text(const Gpu& gpu) {
  const std::string numa = gpu.numa_node < 0 ? "" : fmt::format(", NUMA {}", gpu.numa_node);
  return fmt::format("; GPU {} {} ({}{})", gpu.ordinal, gpu.name, gpu.pci, numa);
}

/// "; NIC mlx5_0 200 Gbit/s (InfiniBand, same PCIe switch)"
std::string nic_text(const Nic& nic) {
  const std::string rate = nic.rate_Gbps > 0 ? fmt::format(" {:g} Gbit/s", nic.rate_Gbps) : "";
  const std::string distance = nic.distance == NicDistance::unknown ? "" : fmt::format(", {}", name(nic.distance));
  return fmt::format("; NIC {}{} ({}{})", nic.name, rate, nic.link_layer, distance);
}

/// Of the rank, where messages leave the node.
std::string nics_text(const Start& start, const Placement& place) {
  std::string text;
  if (start.nodes == 1) return text;
  for (const Nic& nic : place.nics) text += nic_text(nic);
  return text;
}

std::string placement_by_rank(const Start& start) {
  std::string text;
  for (const Placement& place : start.placement) {
    text += fmt::format("#   rank {}: {}, cores {}, NUMA {}{}{}\n", place.rank, place.host, place.cores,
                        place.numa_nodes, place.gpu ? gpu_text(*place.gpu) : "", nics_text(start, place));
  }
  return text;
}

std::string placement_summary(const Start& start) {
  std::set<std::string> hosts;
  std::set<std::string> gpus;  // a GPU that ranks share counts once
  std::set<std::string> names;
  for (const Placement& place : start.placement) {
    hosts.insert(place.host);
    if (!place.gpu) continue;
    gpus.insert(fmt::format("{} {} {}", place.host, place.gpu->uuid, place.gpu->pci));
    names.insert(place.gpu->name);
  }
  const std::string where = hosts.size() == 1 ? *hosts.begin() : *hosts.begin() + " ... " + *hosts.rbegin();
  const std::string nics = nics_text(start, start.placement.front());
  if (gpus.empty()) return fmt::format("#   on {}, without GPUs{}\n", where, nics);
  return fmt::format("#   on {}, with {}: {}{}\n", where, counted(gpus.size(), "GPU"), fmt::join(names, ", "), nics);
}

}  // namespace

std::string header_of(const Start& start) {
  std::string text = title_of(start);
  text += fmt::format("# {} on {}\n", counted(static_cast<std::size_t>(start.ranks), "rank"),
                      counted(static_cast<std::size_t>(start.nodes), "node"));
  text += start.placement.size() > most_placement_lines ? placement_summary(start) : placement_by_rank(start);
  for (const std::string& note : start.notes) text += fmt::format("# note: {}\n", single_line(note));
  return text;
}

}  // namespace commlens::measure

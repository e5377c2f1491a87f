#include "harness/placement.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "harness/placement.hpp"

namespace commlens {

namespace {

std::string read_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

std::vector<int> numa_nodes_of(const std::vector<int>& cores, const std::filesystem::path& system) {
  std::vector<int> nodes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(system / "devices/system/node", error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("node") || name.size() < 5 || std::isdigit(static_cast<unsigned char>(name[4])) == 0)
      continue;
    const auto of_node = numbers(read_line(entry.path() / "cpulist"));
    const bool runs_here = std::any_of(cores.begin(), cores.end(), [&](int core) {
      return std::find(of_node.begin(), of_node.end(), core) != of_node.end();
    });
    if (runs_here) nodes.push_back(std::stoi(name.substr(4)));
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

int numa_node_of(const std::string& pci, const std::filesystem::path& system) {
  const std::string text = read_line(system / "bus/pci/devices" / pci / "numa_node");
  int node = -1;
  std::from_chars(text.data(), text.data() + text.size(), node);
  return node;
}

// A placement travels between ranks as lines of text.
std::string to_text(const measure::Placement& placement) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n{}\n", placement.rank, placement.host, placement.cores,
                                 placement.numa_nodes, placement.gpu ? "GPU" : "");
  if (placement.gpu) {
    const measure::Gpu& gpu = *placement.gpu;
    text += fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n", gpu.ordinal, gpu.name, gpu.uuid, gpu.pci, gpu.numa_node,
                        gpu.memory_bytes, gpu.power_limit_W, gpu.default_power_limit_W);
  }
  for (const measure::Nic& nic : placement.nics) {
    text +=
        fmt::format("{}\n{}\n{}\n{}\n{}\n", nic.name, nic.link_layer, nic.rate_Gbps, nic.numa_node, name(nic.distance));
  }
  return text;
}

measure::Placement from_text(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  measure::Placement placement{std::stoi(lines.at(0)), lines.at(1), lines.at(2), lines.at(3), std::nullopt};
  std::size_t next = 5;
  if (!lines.at(4).empty()) {
    placement.gpu = measure::Gpu{.ordinal = std::stoi(lines.at(5)),
                                 .name = lines.at(6),
                                 .uuid = lines.at(7),
                                 .pci = lines.at(8),
                                 .numa_node = std::stoi(lines.at(9)),
                                 .memory_bytes = std::stoull(lines.at(10)),
                                 .power_limit_W = std::stod(lines.at(11)),
                                 .default_power_limit_W = std::stod(lines.at(12))};
    next = 13;
  }
  for (; next < lines.size(); next += 5) {
    placement.nics.push_back(
        {.name = lines.at(next),
         .link_layer = lines.at(next + 1),
         .rate_Gbps = std::stod(lines.at(next + 2)),
         .numa_node = std::stoi(lines.at(next + 3)),
         .distance = from_name<measure::NicDistance>(lines.at(next + 4)).value_or(measure::NicDistance::unknown)});
  }
  return placement;
}

}  // namespace

std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last > i ? fmt::format("{}-{}", numbers[i], numbers[last]) : std::to_string(numbers[i]);
    i = last + 1;
  }
  return text;
}

std::vector<int> numbers(const std::string& ranges) {
  std::vector<int> result;
  std::istringstream stream(ranges);
  for (std::string part; std::getline(stream, part, ',');) {
    const auto dash = part.find('-');
    const int first = std::stoi(part.substr(0, dash));
    const int last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
    for (int number = first; number <= last; ++number) result.push_back(number);
  }
  return result;
}

std::string host_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

measure::Placement placement_of(int rank, const device::GpuProperties* gpu, const std::filesystem::path& system) {
  const auto cores = allowed_cores();
  measure::Placement placement{rank, host_name(), ranges(cores), ranges(numa_nodes_of(cores, system)), std::nullopt};
  if (gpu != nullptr) {
    const device::PowerLimit power = gpu->power_limit.value_or(device::PowerLimit{});
    placement.gpu = measure::Gpu{.ordinal = gpu->ordinal,
                                 .name = gpu->name,
                                 .uuid = gpu->uuid,
                                 .pci = gpu->pci,
                                 .numa_node = numa_node_of(gpu->pci, system),
                                 .memory_bytes = gpu->memory_bytes,
                                 .power_limit_W = power.watts,
                                 .default_power_limit_W = power.default_watts};
  }
  placement.nics = nearest_nics(placement.gpu, placement.numa_nodes, system);
  return placement;
}

std::vector<measure::Placement> gather_placement(const transport::Communicator& communicator,
                                                 const measure::Placement& mine) {
  std::vector<measure::Placement> all;
  for (const std::string& text : communicator.gather(to_text(mine))) all.push_back(from_text(text));
  return all;
}

int core_share(const std::vector<measure::Placement>& placement, int rank) {
  const auto& mine = placement.at(static_cast<std::size_t>(rank));
  std::map<int, int> sharers;
  for (const auto& place : placement) {
    if (place.host != mine.host) continue;
    for (const int core : numbers(place.cores)) ++sharers[core];
  }
  double share = 0;
  for (const int core : numbers(mine.cores)) share += 1.0 / sharers[core];
  return std::max(1, static_cast<int>(share + 1e-9));
}

}  // namespace commlens

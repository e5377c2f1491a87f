#include "harness/placement.hpp"

#include <fmt/format.h>
#include <mpi.h>
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
#include <system_error>

#include "base/json.hpp"
#include "transport/mpi_library.hpp"

namespace commlens::measure {

void to_json(Json& json, const Gpu& gpu) {
  json = {gpu.ordinal,   gpu.name,         gpu.uuid,          gpu.pci,
          gpu.numa_node, gpu.memory_bytes, gpu.power_limit_W, gpu.default_power_limit_W};
}

void from_json(const Json& json, Gpu& gpu) {
  gpu = {.ordinal = json[0],
         .name = json[1],
         .uuid = json[2],
         .pci = json[3],
         .numa_node = json[4],
         .memory_bytes = json[5],
         .power_limit_W = json[6],
         .default_power_limit_W = json[7]};
}

void to_json(Json& json, const Nic& nic) {
  json = {nic.name, nic.link_layer, nic.rate_Gbps, nic.numa_node, nic.distance};
}

void from_json(const Json& json, Nic& nic) {
  nic = {.name = json[0], .link_layer = json[1], .rate_Gbps = json[2], .numa_node = json[3], .distance = json[4]};
}

}  // namespace commlens::measure

namespace commlens {

std::string read_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

namespace {

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

// A placement travels between ranks as JSON.
std::string to_text(const measure::Placement& placement) {
  const Json gpu = placement.gpu ? Json(*placement.gpu) : Json();
  return line_of({placement.rank, placement.host, placement.cores, placement.numa_nodes, gpu, placement.nics});
}

measure::Placement from_text(const std::string& text) {
  const Json json = parse_json(text);
  measure::Placement placement{.rank = json[0], .host = json[1], .cores = json[2], .numa_nodes = json[3], .gpu = {}};
  if (!json[4].is_null()) placement.gpu = json[4].get<measure::Gpu>();
  json[5].get_to(placement.nics);
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
  if (transport::mpi_is_simulated()) {
    static_assert(host.size() >= MPI_MAX_PROCESSOR_NAME);
    int length = 0;
    MPI_Get_processor_name(host.data(), &length);
    return host.data();
  }
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

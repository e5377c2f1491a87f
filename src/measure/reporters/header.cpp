// What stands above a table: what runs where.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <set>
#include <string>

#include "base/format.hpp"
#include "measure/reporters/text.hpp"

namespace commlens::measure {
namespace {

constexpr std::size_t most_placement_lines = 8;

std::string title_of(const Start& start) {
  std::string title = fmt::format("# commlens {}, backend {}", commlens_version(start), start.backend);
  for (const char* library : {"mpi", "ccl"}) {  // their versions begin with their names: "NCCL 2.28.3"
    const auto found = start.versions.find(library);
    if (found != start.versions.end()) title += ", " + on_one_line(found->second);
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

std::string one_line_per_rank(const Start& start) {
  std::string text;
  for (const Placement& place : start.placement) {
    text += fmt::format("#   rank {}: {}, cores {}, NUMA {}{}{}\n", place.rank, place.host, place.cores,
                        place.numa_nodes, place.gpu ? gpu_text(*place.gpu) : "", nics_text(start, place));
  }
  return text;
}

std::string one_line_for_all(const Start& start) {
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
  text += start.placement.size() > most_placement_lines ? one_line_for_all(start) : one_line_per_rank(start);
  for (const std::string& note : start.notes) text += fmt::format("# note: {}\n", on_one_line(note));
  return text;
}

}  // namespace commlens::measure

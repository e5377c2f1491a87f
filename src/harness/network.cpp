#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/placement.hpp"

namespace commlens {

namespace fs = std::filesystem;
using measure::Nic;
using measure::NicDistance;

namespace {

/// An adapter, and its place among the devices of the machine: "pci0000:15/0000:15:01.0/0000:16:00.0".
struct Adapter {
  Nic nic;
  fs::path device;
};

template <class Number>
Number number_or(const std::string& text, Number otherwise) {
  std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code none;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder, none)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Adapter adapter(const fs::path& entry, Nic nic) {
  std::error_code none;
  const fs::path device = entry / "device";
  nic.numa_node = number_or(read_line(device / "numa_node"), -1);
  return {std::move(nic), fs::canonical(device, none)};
}

/// With an active port, of what the kernel calls infiniband: InfiniBand itself and RoCE.
std::vector<Adapter> rdma_adapters(const fs::path& system) {
  std::vector<Adapter> adapters;
  for (const fs::path& entry : entries(system / "class/infiniband")) {
    for (const fs::path& port : entries(entry / "ports")) {
      if (read_line(port / "state").find("ACTIVE") == std::string::npos) continue;
      const std::string number = port.filename();
      const std::string name = entry.filename().string() + (number == "1" ? "" : ":" + number);
      const std::string layer = read_line(port / "link_layer") == "Ethernet" ? "RoCE" : "InfiniBand";
      // "200 Gb/sec (4X HDR)"
      adapters.push_back(
          adapter(entry, {.name = name, .link_layer = layer, .rate_Gbps = number_or(read_line(port / "rate"), 0.0)}));
    }
  }
  return adapters;
}

/// Interfaces with a link, of hardware where there is any: those of bridges, containers and tunnels have none.
std::vector<Adapter> interfaces(const fs::path& system) {
  constexpr auto ethernet = "1";  // ARPHRD_ETHER; the loopback interface has another type
  std::vector<Adapter> hardware;
  std::vector<Adapter> all;
  for (const fs::path& entry : entries(system / "class/net")) {
    const bool belongs_to_another = fs::exists(entry / "master") || fs::exists(entry / "bridge");
    if (read_line(entry / "type") != ethernet || read_line(entry / "operstate") != "up" || belongs_to_another) continue;
    const std::string name = entry.filename();
    const double Mbps = std::max(0.0, number_or(read_line(entry / "speed"), 0.0));  // -1: unknown
    all.push_back(adapter(
        entry,
        {.name = name, .link_layer = name.starts_with("hsn") ? "Slingshot" : "Ethernet", .rate_Gbps = Mbps / 1000}));
    if (fs::exists(entry / "device") || fs::exists(entry / "bonding")) hardware.push_back(all.back());
  }
  return hardware.empty() ? all : hardware;
}

/// Those that MPI would use.
std::vector<Adapter> used_adapters(const fs::path& system) {
  std::vector<Adapter> all = rdma_adapters(system);
  auto others = interfaces(system);
  all.insert(all.end(), others.begin(), others.end());
  using Layers = std::set<std::string>;
  for (const Layers& layers : {Layers{"InfiniBand", "Slingshot"}, Layers{"RoCE"}}) {
    std::vector<Adapter> matching;
    std::copy_if(all.begin(), all.end(), std::back_inserter(matching),
                 [&](const Adapter& adapter) { return layers.contains(adapter.nic.link_layer); });
    if (!matching.empty()) return matching;
  }
  return others;
}

/// They share a bridge below the root of their PCIe bus.
bool share_a_switch(const fs::path& device, const fs::path& other) {
  const auto [end, unused] = std::mismatch(device.begin(), device.end(), other.begin(), other.end());
  bool below_root = false;
  for (auto part = device.begin(); part != end; ++part) {
    if (below_root) return true;
    below_root = part->string().starts_with("pci");
  }
  return false;
}

NicDistance distance_of(const Adapter& adapter, const fs::path& gpu, const std::vector<int>& nodes) {
  if (!gpu.empty() && share_a_switch(adapter.device, gpu)) return NicDistance::pcie_switch;
  if (adapter.nic.numa_node < 0 || nodes.empty()) return NicDistance::unknown;
  const bool same = std::find(nodes.begin(), nodes.end(), adapter.nic.numa_node) != nodes.end();
  return same ? NicDistance::same_numa_node : NicDistance::other_numa_node;
}

using Uses = std::map<std::pair<std::string, std::string>, int>;  ///< ranks that use an adapter, by host and name

void use(Uses& uses, const measure::Placement& place) {
  for (const Nic& nic : place.nics) ++uses[{place.host, nic.name}];
}

double share_Gbps(const Uses& uses, const measure::Placement& place) {
  double share = 0;
  for (const Nic& nic : place.nics) share += nic.rate_Gbps / uses.at({place.host, nic.name});
  return share;
}

}  // namespace

std::vector<Nic> nearest_nics(const std::optional<measure::Gpu>& gpu, const std::string& numa_nodes,
                              const fs::path& system) {
  std::error_code none;
  const fs::path device = gpu ? fs::canonical(system / "bus/pci/devices" / gpu->pci, none) : fs::path();
  const bool gpu_has_node = gpu && gpu->numa_node >= 0;
  const std::vector<int> nodes = gpu_has_node ? std::vector<int>{gpu->numa_node} : numbers(numa_nodes);
  std::vector<Nic> nics;
  for (const Adapter& adapter : used_adapters(system)) {
    nics.push_back(adapter.nic);
    nics.back().distance = distance_of(adapter, device, nodes);
  }
  const auto nearest =
      std::min_element(nics.begin(), nics.end(), [](const Nic& a, const Nic& b) { return a.distance < b.distance; });
  if (nearest == nics.end()) return nics;
  const NicDistance least = nearest->distance;
  std::erase_if(nics, [&](const Nic& nic) { return nic.distance != least; });
  return nics;
}

bool has_rdma(const measure::Placement& place) {
  return !place.nics.empty() && place.nics.front().link_layer != "Ethernet";
}

std::optional<double> seconds_at_link_rate(const std::vector<measure::Placement>& placement,
                                           const std::vector<int>& peers, double bytes) {
  Uses sending;
  Uses receiving;
  std::vector<int> messages(peers.size());  // that a rank receives
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    if (peers[rank] < 0) continue;
    const auto peer = static_cast<std::size_t>(peers[rank]);
    use(sending, placement[rank]);
    if (messages[peer]++ == 0) use(receiving, placement[peer]);
  }
  double seconds = 0;
  for (std::size_t rank = 0; rank < peers.size(); ++rank) {
    if (peers[rank] < 0) continue;
    const auto peer = static_cast<std::size_t>(peers[rank]);
    const double out = share_Gbps(sending, placement[rank]);
    const double in = share_Gbps(receiving, placement[peer]) / messages[peer];
    if (std::min(out, in) <= 0) return std::nullopt;
    seconds = std::max(seconds, bytes * 8e-9 / std::min(out, in));
  }
  return seconds;
}

}  // namespace commlens

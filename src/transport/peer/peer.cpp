// The transport `peer`: loads and stores into the memory of the other ranks of a node, and flags there. It is what
// remains without the software between an application and the hardware: what an MPI library could reach, and what an
// application would gain by such a design.
//
// Its buffers must be in memory that it has made, so that every rank finds those of the others. Sums are in the order
// of the ranks, so that all ranks have the same result to the last bit.
#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cmath>
#include <memory>
#include <string>

#include "device/gpu_backend.hpp"
#include "transport/peer/messages.hpp"
#include "transport/transport.hpp"

namespace commlens::transport::peer {

namespace {

constexpr double MiB = 1024.0 * 1024.0;
std::string in_MiB(double bytes) { return fmt::format("{:.0f} MiB", std::ceil(bytes / MiB)); }

/// Buffers are made a second time here, in memory of which a system may have less.
std::string no_room(const Setup& setup, double wanted) {
  struct statvfs shared{};
  if (statvfs("/dev/shm", &shared) != 0) return "peer needs /dev/shm, which is not there";
  const double free = static_cast<double>(shared.f_bavail) * static_cast<double>(shared.f_frsize);
  if (wanted > free) {
    return "peer needs " + in_MiB(wanted) + " of /dev/shm for the ranks of the node, where " + in_MiB(free) +
           " are free: ask for less, or enlarge it (containers: --shm-size)";
  }
  const auto memory = static_cast<double>(setup.device.available(device::Memory::host));
  if (2 * wanted <= memory) return {};
  return "peer has buffers of its own, another " + in_MiB(wanted) + " of host memory: ask for less";
}

/// Buffers are made a second time.
std::string no_room_on_gpu(const Setup& setup) {
  const auto free = static_cast<double>(setup.device.available(device::Memory::device));
  if (2 * setup.buffers <= free) return {};
  return "peer has buffers of its own, another " + in_MiB(setup.buffers) + " of the GPU's memory, of which " +
         in_MiB(free) + " are free: ask for less";
}

/// On GPUs. A mistake there is a kernel that waits for ever.
bool is_measured(const Communicator& communicator) { return device::backend() == "cuda" && communicator.size() == 2; }

std::string unsupported(const Setup& setup) {
  const auto& communicator = setup.communicator;
  const Communicator node = communicator.node();
  const bool on_single_node = communicator.first(node.size() < communicator.size() ? "no" : "").empty();
  const double wanted = communicator.sum_of_reals(setup.buffers);
  const std::string memory(name(setup.memory));
  const std::string first = communicator.broadcast(memory);
  if (!communicator.first(memory == first ? "" : memory).empty()) {
    return "peer works on buffers of one memory; the ranks have different ones";
  }
  if (!on_single_node) return "the ranks are on several nodes; peer needs memory that all of them share";
  if (setup.memory == device::Memory::host) return no_room(setup, wanted);
  if (setup.memory != device::Memory::device)
    return "peer works on host and device memory, not on " + memory + " memory";
  if (!setup.is_named && !is_measured(communicator)) {
    return "peer has been measured between two GPUs of NVIDIA only: name it to try it (--transport peer)";
  }
  std::string reason = communicator.first(shared_gpu(setup, "peer"));
  if (reason.empty()) reason = communicator.first(no_room_on_gpu(setup));
  if constexpr (device::has_gpu_backend) return reason.empty() ? gpus_unsupported(setup) : reason;
  return reason.empty() ? "peer on GPU memory: this build has no GPU backend" : reason;
}

std::unique_ptr<Transport> make(const Setup& setup) {
  if constexpr (device::has_gpu_backend) {
    if (setup.memory != device::Memory::host) return make_gpu_peer(setup);
  }
  return make_host_peer(setup.communicator);
}

const Registration peer_registration(4,
                                     {.name = "peer",
                                      .description = "loads and stores into the memory of the other ranks of the node",
                                      .unsupported = unsupported,
                                      .make = make});

}  // namespace

}  // namespace commlens::transport::peer

#include "transport/transport.hpp"

#include <map>
#include <stdexcept>

namespace commlens::transport {

namespace {
/// Filled before main() by the registrations, constant afterwards.
std::map<int, Description>& registered() {
  static std::map<int, Description> by_place;
  return by_place;
}
}  // namespace

Registration::Registration(int place, Description description) {
  if (!registered().emplace(place, std::move(description)).second) {
    throw std::logic_error("two transports are registered in one place");
  }
}

const std::vector<Description>& all() {
  static const std::vector<Description> sorted = [] {
    std::vector<Description> descriptions;
    for (const auto& [place, description] : registered()) descriptions.push_back(description);
    return descriptions;
  }();
  return sorted;
}

std::string shared_gpu(const Setup& setup, std::string_view who) {
  const auto* gpu = setup.device.gpu();
  const auto uuids = setup.communicator.gather(gpu != nullptr ? gpu->uuid : std::string());
  for (std::size_t rank = 0; rank < uuids.size(); ++rank) {
    if (uuids[rank].empty()) return "rank " + std::to_string(rank) + " has no GPU";
    for (std::size_t other = 0; other < rank; ++other) {
      if (uuids[other] == uuids[rank]) {
        return "ranks " + std::to_string(other) + " and " + std::to_string(rank) + " share a GPU (" + uuids[rank] +
               "); " + std::string(who) + " needs one GPU per rank: start at most as many ranks as GPUs";
      }
    }
  }
  return {};
}

}  // namespace commlens::transport

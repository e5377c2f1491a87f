#include "transport/kinds.hpp"

#include <map>
#include <stdexcept>

namespace commlens::transport {

namespace {
/// Filled before main() by the registrations, constant afterwards.
std::map<int, Kind>& registered() {
  static std::map<int, Kind> kinds;
  return kinds;
}
}  // namespace

Registration::Registration(int place, Kind kind) {
  if (!registered().emplace(place, std::move(kind)).second) throw std::logic_error("two transports in one place");
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> sorted = [] {
    std::vector<Kind> all;
    for (const auto& [place, kind] : registered()) all.push_back(kind);
    return all;
  }();
  return sorted;
}

}  // namespace commlens::transport

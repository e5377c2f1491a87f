#include "transport/registration.hpp"

#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

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

}  // namespace commlens::transport

#include <array>

#include "device/device.hpp"

namespace commlens::device {

namespace {
constexpr std::array<std::string_view, 4> names{"host", "pinned", "device", "managed"};
}

std::string_view name(Memory memory) { return names.at(static_cast<std::size_t>(memory)); }

std::optional<Memory> memory_from(std::string_view wanted) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == wanted) return static_cast<Memory>(i);
  }
  return std::nullopt;
}

}  // namespace commlens::device

#include "harness/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace commlens {

namespace {
/// Filled before main() by the registrations, constant afterwards.
std::vector<BenchmarkDescription>& registered() {
  static std::vector<BenchmarkDescription> all;
  return all;
}
}  // namespace

BenchmarkRegistration::BenchmarkRegistration(BenchmarkDescription description) {
  auto& all = registered();
  const auto place =
      std::find_if(all.begin(), all.end(), [&](const auto& other) { return other.name > description.name; });
  all.insert(place, std::move(description));
}

std::string binary_bytes(double bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", bytes, units.at(unit));
}

const std::vector<BenchmarkDescription>& benchmarks() { return registered(); }

}  // namespace commlens

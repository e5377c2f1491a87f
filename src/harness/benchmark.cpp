#include "harness/benchmark.hpp"

#include <algorithm>

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

const std::vector<BenchmarkDescription>& benchmarks() { return registered(); }

}  // namespace commlens

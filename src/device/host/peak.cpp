#include "device/host/peak.hpp"

#include "device/host/target_clones.hpp"

namespace commlens::device::host {

namespace {

/// Sums that do not depend on each other: enough for the latency of two multiply-adds a cycle, few enough for 16
/// registers.
constexpr std::size_t chains = 12;

using Line [[gnu::vector_size(line_bytes)]] = double;

template <class Real, std::size_t bytes>
[[gnu::always_inline]] inline MultiplyAdds multiply_add_in_vectors(std::size_t rounds) {
  using Vector [[gnu::vector_size(bytes)]] = Real;
  const volatile Real seed = Real{0.5};  // what the compiler does not know it cannot compute
  const Vector factor = Vector{} + seed;
  Vector sums[chains];
  for (std::size_t c = 0; c < chains; ++c) sums[c] = factor * static_cast<Real>(c);  // all equal, they would be one
  for (std::size_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (Vector& sum : sums) sum = sum * factor + factor;
  }
  constexpr std::size_t length = bytes / sizeof(Real);
  double total = 0;
  for (const Vector& sum : sums) {
    for (std::size_t k = 0; k < length; ++k) total += static_cast<double>(sum[k]);
  }
  return {.flops = static_cast<double>(2 * chains * length * rounds), .sum = total};
}

}  // namespace

COMMLENS_FOR_EACH_PROCESSOR double sum(const double* data, std::size_t n) {
  constexpr std::size_t length = line_bytes / sizeof(double);
  const auto* line = reinterpret_cast<const Line*>(data);
  Line sums[4] = {};
  for (std::size_t i = 0; i < n / length; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] += line[i + k];
  }
  const Line all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double total = 0;
  for (std::size_t k = 0; k < length; ++k) total += all[k];
  return total;
}

COMMLENS_FOR_EACH_PROCESSOR void mean(double* __restrict to, const double* a, const double* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = 0.5 * (a[i] + b[i]);
}

COMMLENS_FOR_EACH_PROCESSOR MultiplyAdds multiply_add(bool doubles, bool wide, std::size_t rounds) {
  if (doubles) return wide ? multiply_add_in_vectors<double, 64>(rounds) : multiply_add_in_vectors<double, 32>(rounds);
  return wide ? multiply_add_in_vectors<float, 64>(rounds) : multiply_add_in_vectors<float, 32>(rounds);
}

}  // namespace commlens::device::host

#include "device/traffic.hpp"

#include "device/host/peak.hpp"
#include "device/launch.hpp"

namespace commlens::device {

namespace {

/// What a thread of a GPU loads and stores at once.
struct alignas(16) Pair {
  double first;
  double second;
};
constexpr std::size_t per_index = 4;  ///< pairs, whose loads do not wait for each other

void add_sum(Stream& stream, const double* data, std::size_t n, double* scratch) {
  constexpr std::size_t in_use = sum_scratch_bytes / sizeof(double);
  double* result = scratch + in_use;
  if (!stream.on_gpu()) return stream.enqueue([=] { *result = host::sum(data, n); });
  const auto* pairs = reinterpret_cast<const Pair*>(data);
  const std::size_t step = n / 2 / per_index;
  launch_sum(
      stream, step, scratch, result, COMMLENS_LAMBDA(std::size_t i) {
        double sum = 0;
        for (std::size_t p = i; p < per_index * step; p += step) sum += pairs[p].first + pairs[p].second;
        return sum;
      });
}

/// to = (a + b) / 2; with a = b it is a copy.
void add_mean(Stream& stream, double* to, const double* a, const double* b, std::size_t n) {
  if (!stream.on_gpu()) return stream.enqueue([=] { host::mean(to, a, b, n); });
  auto* out = reinterpret_cast<Pair*>(to);
  const auto* left = reinterpret_cast<const Pair*>(a);
  const auto* right = reinterpret_cast<const Pair*>(b);
  const std::size_t step = n / 2 / per_index;
  launch(
      stream, step, COMMLENS_LAMBDA(std::size_t i) {
        for (std::size_t p = i; p < per_index * step; p += step) {
          out[p] = {0.5 * (left[p].first + right[p].first), 0.5 * (left[p].second + right[p].second)};
        }
      });
}

}  // namespace

std::vector<Pass> passes_over(const Buffer& buffer, Stream& stream) {
  constexpr std::size_t whole = per_index * host::line_bytes * 2 * 3;  // halves and thirds are whole lines, too
  static_assert(whole + sum_scratch_bytes + sizeof(double) <= pass_scratch_bytes);
  const std::size_t bytes = (buffer.bytes() - pass_scratch_bytes + whole - 1) / whole * whole;
  const std::size_t n = bytes / sizeof(double);
  auto* const data = buffer.as<double>();
  stream.fill(data, 1, bytes);
  stream.fill(data + n, 0, buffer.bytes() - bytes);
  stream.wait();
  return {{"reads", bytes, [=, &stream] { add_sum(stream, data, n, data + n); }},
          {"copies", bytes, [=, &stream] { stream.copy(data + n / 2, data, bytes / 2); }},
          {"copies by a kernel", bytes, [=, &stream] { add_mean(stream, data + n / 2, data, data, n / 2); }},
          {"triads", bytes, [=, &stream] { add_mean(stream, data + n / 3 * 2, data, data + n / 3, n / 3); }}};
}

}  // namespace commlens::device

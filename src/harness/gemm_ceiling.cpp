#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "harness/ceiling.hpp"
#include "harness/pattern.hpp"
#include "harness/run.hpp"
#include "measure/statistics.hpp"

namespace commlens {

using device::Memory;

namespace {

constexpr std::size_t product_rounds = 5;
constexpr double product_round_s = 0.2;  ///< a round is at least so long: a GPU at work lowers its clocks soon
constexpr double long_enough_s = 0.05;   ///< a square product that takes longer is not doubled any more
constexpr std::size_t smallest_square = 512;
constexpr std::size_t largest_square = 16384;

}  // namespace

double Ceilings::seconds_of(const device::Gemm& gemm, device::Blas& blas, device::Stream& stream) {
  const auto time = [&](std::size_t count) {
    communicator_.barrier();
    const Stopwatch stopwatch;
    for (std::size_t i = 0; i < count; ++i) blas.gemm(gemm, stream);
    stream.wait();
    return communicator_.maximum(stopwatch.seconds() / static_cast<double>(count));
  };
  (void)time(1);
  const auto count = static_cast<std::size_t>(std::max(1.0, product_round_s / std::max(time(1), 1e-6)));
  std::vector<double> seconds;
  for (std::size_t round = 0; round < product_rounds; ++round) {
    seconds.push_back(time(count));
    Run::heartbeat();
  }
  return measure::summarize(seconds).median;
}

std::optional<measure::Ceiling> Ceilings::measure(const GemmCeiling& ceiling, device::Blas& blas, Memory memory) {
  const auto& gemm = ceiling.gemm;
  const auto key = std::tuple(gemm.type, gemm.m, gemm.n, gemm.k, gemm.tune);
  const auto known = known_products_.find(key);
  std::optional<measure::Ceiling> result;
  if (known != known_products_.end()) {
    result = known->second;
  } else if (gemm.a == nullptr) {
    result = square_product(gemm, blas, memory);
  } else {
    const auto stream = device_.stream(memory);
    const double seconds = seconds_of(gemm, blas, *stream);
    result = measure::Ceiling{
        .name = "block GEMM",
        .method = fmt::format("products of {} x {} x {}, {}{}, back to back, by all ranks at the same time; the median "
                              "of {} rounds",
                              gemm.m, gemm.n, gemm.k, name(gemm.type), gemm.tune ? ", tuned" : "", product_rounds),
        .rate = flops_of(gemm) / seconds * 1e-12,
        .unit = measure::unit::TFLOPs,
        .library = true};
  }
  known_products_.emplace(key, result);
  if (result) result->seconds = ceiling.flops / (result->rate * 1e12);
  return result;
}

std::size_t Ceilings::sharers(Memory memory) const {
  const auto self = static_cast<std::size_t>(communicator_.rank());
  std::size_t count = 0;
  for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
    count += hosts_[rank] == hosts_[self] && (!on_gpu(memory) || gpus_[rank] == gpus_[self]) ? 1 : 0;
  }
  return count;
}

std::optional<measure::Ceiling> Ceilings::square_product(const device::Gemm& like, device::Blas& blas, Memory memory) {
  const auto stream = device_.stream(memory);
  std::optional<measure::Ceiling> best;
  for (std::size_t n = smallest_square; n <= largest_square; n *= 2) {
    const std::size_t reals = n * n * components(like.type);
    device::Buffer matrices;
    std::string problem;
    try {
      const std::size_t bytes = 3 * n * n * size_of(like.type);
      if (bytes * sharers(memory) > device_.available(memory) / 10 * 9) throw Error("no room");
      matrices = device_.allocate(memory, bytes);
    } catch (const Error& error) {
      problem = error.what();
    }
    if (!communicator_.first(problem).empty()) break;
    pattern::write_numbers(*stream, matrices.data(), 2 * reals, like.type, n);
    auto* const a = matrices.as<std::byte>();
    const std::size_t bytes = n * n * size_of(like.type);
    const device::Gemm square{.type = like.type,
                              .b_operation = device::Operation::adjoint,
                              .m = n,
                              .n = n,
                              .k = n,
                              .a = a,
                              .lda = n,
                              .b = a + bytes,
                              .ldb = n,
                              .c = a + 2 * bytes,
                              .ldc = n};
    const double seconds = seconds_of(square, blas, *stream);
    const double rate = flops_of(square) / seconds * 1e-12;
    if (!best || rate > best->rate) {
      best = measure::Ceiling{
          .name = "square GEMM",
          .method =
              fmt::format("products of {0} x {0} x {0}, {1}, every bit of the numbers in use, back to back, by all "
                          "ranks at the same time; the median of {2} rounds",
                          n, name(like.type), product_rounds),
          .rate = rate,
          .unit = measure::unit::TFLOPs};
    }
    if (seconds > long_enough_s) break;
  }
  return best;
}

namespace {

constexpr std::size_t fewest = 6;
constexpr std::size_t most = 50;
constexpr double calls_s = 1;

}  // namespace

measure::Ceiling Ceilings::measure(const CallCeiling& ceiling, device::Stream& stream) const {
  double seconds = 0;
  double spent = 0;  // equal on all ranks
  for (const auto& call : ceiling.calls) {
    std::vector<double> samples;
    const double until = spent + calls_s / static_cast<double>(ceiling.calls.size());
    for (std::size_t i = 0; i < most && (i < fewest || spent < until); ++i) {
      communicator_.barrier();
      const Stopwatch stopwatch;
      call();
      stream.wait();
      samples.push_back(communicator_.sum_of_reals(stopwatch.seconds()) / communicator_.size());
      spent += samples.back();
      Run::heartbeat();
    }
    samples.erase(samples.begin());  // the first warms up
    seconds += measure::summarize(samples).median;
  }
  return {
      .name = ceiling.name,
      .method = ceiling.method + "; the mean over the ranks, the median of 5 to 49 of each by itself, after a barrier",
      .seconds = seconds,
      .rate = static_cast<double>(ceiling.bytes) / seconds * 1e-9,
      .library = true,
      .part = ceiling.part};
}

}  // namespace commlens

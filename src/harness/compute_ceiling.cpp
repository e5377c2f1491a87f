#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "device/host/peak.hpp"
#include "device/traffic.hpp"
#include "harness/ceiling.hpp"
#include "harness/pattern.hpp"
#include "harness/placement.hpp"
#include "harness/run.hpp"
#include "measure/peak.hpp"
#include "measure/statistics.hpp"

namespace commlens {

using device::Memory;

namespace {

constexpr double gpu_round_s = 0.1;                        ///< of products: long enough for the clocks of a GPU at work
constexpr double short_round_s = 0.002;                    ///< some are not interrupted on a busy host
constexpr std::size_t large_bytes = std::size_t{1} << 30;  ///< beyond all caches of a GPU
constexpr double long_enough_s = 0.05;  ///< a square product that takes longer is not doubled any more
constexpr std::size_t smallest_square = 512;
constexpr std::size_t largest_square = 16384;
constexpr std::size_t fewest_calls = 6;
constexpr std::size_t most_calls = 50;
constexpr double calls_s = 1;

/// Threads that do the same at the same time as the one that has made them, again and again: starting them would take
/// longer than a round on many cores.
class Team {
 public:
  explicit Team(int size) : together_(size) {
    for (int i = 1; i < size; ++i) {
      try {
        others_.emplace_back([this] { follow(); });
      } catch (...) {  // those that have started must end
        for (int missing = i; missing < size; ++missing) together_.arrive_and_drop();
        throw;
      }
    }
  }
  Team(Team&&) = delete;
  ~Team() {
    work_ = nullptr;
    together_.arrive_and_wait();
  }

  void run(std::function<void()> work) {
    work_ = std::move(work);
    together_.arrive_and_wait();
    work_();
    together_.arrive_and_wait();
  }

 private:
  void follow() {
    for (;;) {
      together_.arrive_and_wait();
      if (!work_) return;
      work_();
      together_.arrive_and_wait();
    }
  }

  std::barrier<> together_;
  std::function<void()> work_;
  std::vector<std::jthread> others_;  // the last: they end before what they use
};

}  // namespace

std::vector<double> Ceilings::peak_rates(const std::vector<Way>& ways, double round_s,
                                         const measure::PeakLimits& limits) const {
  const auto seconds_of = [&](const Way& way, std::size_t count) {
    communicator_.barrier();  // all do it at the same time; it takes as long as the slowest needs
    const Stopwatch stopwatch;
    way.repeat(count);
    return std::max(communicator_.maximum(stopwatch.seconds()), 1e-9);
  };
  std::vector<std::size_t> counts;
  for (const Way& way : ways) {
    (void)seconds_of(way, 1);  // warms up
    std::size_t& count = counts.emplace_back(1);
    for (double seconds = 0; (seconds = seconds_of(way, count)) < round_s / 2;) {
      count *= static_cast<std::size_t>(std::clamp(round_s / seconds, 2.0, 100.0));
    }
  }
  double spent = 0;
  const auto round = [&] {
    std::vector<double> rates;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const double seconds = seconds_of(ways[i], counts[i]);
      rates.push_back(ways[i].work * static_cast<double>(counts[i]) / seconds);
      spent += seconds;
    }
    heartbeat();
    return rates;
  };
  return measure::peak_rates(round, [&] { return spent; }, limits);
}

bool Ceilings::any_on_gpu(Memory memory) const { return communicator_.sum(on_gpu(memory) ? 1 : 0) > 0; }

double Ceilings::rate_of(const device::Gemm& gemm, device::Blas& blas, Memory memory,
                         const measure::PeakLimits& limits) const {
  const auto stream = device_.stream(memory);
  const auto multiply = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) blas.gemm(gemm, *stream);
    stream->wait();
  };
  return peak_rates({{flops_of(gemm), multiply}}, any_on_gpu(memory) ? gpu_round_s : short_round_s, limits).front();
}

const Ceilings::Peak& Ceilings::peak(const std::string& work, bool some_on_gpu, CaseTime case_s,
                                     const Measure& measure) {
  const auto [known, is_new] = peaks_.try_emplace(communicator_.gather(work));
  Peak& best = known->second;
  if (is_new) best = measure(best, measure::limits_from_idle(some_on_gpu));
  if (!is_new && case_s && best.case_s != case_s) best = best.or_better(measure(best, measure::limits_after(*case_s)));
  best.case_s = case_s;
  return best;
}

std::optional<measure::Ceiling> Ceilings::measure(const GemmCeiling& ceiling, device::Blas& blas, Memory memory,
                                                  CaseTime case_s) {
  const auto& gemm = ceiling.gemm;
  const bool of_hardware = gemm.a == nullptr;
  const bool some_on_gpu = any_on_gpu(memory);
  const std::string shape = fmt::format("products of {} x {} x {}, {}{}", gemm.m, gemm.n, gemm.k, name(gemm.type),
                                        gemm.tune ? ", tuned" : "");
  const std::string work =
      fmt::format("{} {:d} {:d} {} {} {} {:d} {}", shape, static_cast<int>(gemm.a_operation),
                  static_cast<int>(gemm.b_operation), gemm.lda, gemm.ldb, gemm.ldc, gemm.add, name(memory));
  Peak best = peak(work, some_on_gpu, case_s, [&](const Peak& known, const auto& limits) -> Peak {
    if (!of_hardware) return {.rate = rate_of(gemm, blas, memory, limits), .method = shape};
    return square_products(gemm.type, blas, memory, known, limits);
  });
  if (of_hardware && !some_on_gpu) {
    const auto measure = [&](const Peak& /*known*/, const auto& limits) { return multiply_adds(gemm.type, limits); };
    best = best.or_better(peak(fmt::format("multiply-adds {}", name(gemm.type)), false, case_s, measure));
  }
  if (best.rate == 0) return std::nullopt;
  return measure::Ceiling{.name = !of_hardware ? "block GEMM" : (some_on_gpu ? "square GEMM" : "multiply-adds"),
                          .method = best.method + ", back to back, by all ranks at the same time; the best round",
                          .seconds = ceiling.flops / best.rate,
                          .rate = best.rate * 1e-12,
                          .unit = measure::unit::TFLOPs,
                          .library = !of_hardware};
}

Ceilings::Peak Ceilings::passes(Memory memory, std::size_t bytes, const measure::PeakLimits& limits) {
  const auto stream = device_.stream(memory);
  const auto buffer = allocate_on_all(memory, bytes + device::pass_scratch_bytes);
  if (!buffer) return {};
  const auto passes = device::passes_over(*buffer, *stream);
  std::vector<Way> ways;
  for (const device::Pass& pass : passes) {
    ways.push_back({static_cast<double>(pass.bytes), [&](std::size_t count) {
                      for (std::size_t i = 0; i < count; ++i) pass.add();
                      stream->wait();
                    }});
  }
  const auto rates = peak_rates(ways, short_round_s, limits);
  const auto best = static_cast<std::size_t>(std::max_element(rates.begin(), rates.end()) - rates.begin());
  return {rates[best], fmt::format("{} of {} bytes", passes[best].name, passes[best].bytes)};
}

std::optional<measure::Ceiling> Ceilings::measure(const MemoryCeiling& ceiling, Memory memory, CaseTime case_s) {
  const bool some_on_gpu = any_on_gpu(memory);
  std::vector<std::size_t> sizes{static_cast<std::size_t>(communicator_.maximum(ceiling.working_set))};
  if (some_on_gpu) sizes.push_back(large_bytes);
  Peak best;
  for (const std::size_t bytes : sizes) {
    const auto measure = [&](const Peak& /*known*/, const auto& limits) { return passes(memory, bytes, limits); };
    best = best.or_better(peak(fmt::format("passes {} {}", bytes, name(memory)), some_on_gpu, case_s, measure));
  }
  if (best.rate == 0) return std::nullopt;
  return measure::Ceiling{.name = "memory bandwidth",
                          .method = best.method + ", back to back, by all ranks at the same time; the best round",
                          .seconds = communicator_.maximum(ceiling.bytes) / best.rate,
                          .rate = best.rate * 1e-9,
                          .part = ceiling.part};
}

Ceilings::Peak Ceilings::multiply_adds(DataType type, const measure::PeakLimits& limits) const {
  const bool doubles = type == DataType::f64 || type == DataType::c128;
  const int cores = core_share(placement_, communicator_.rank());
  constexpr std::size_t rounds = 10000;
  Team team(cores);
  std::vector<Way> ways;
  for (const bool wide : {false, true}) {
    const double flops = device::host::multiply_add(doubles, wide, 1).flops;
    ways.push_back({flops * rounds * cores, [&team, doubles, wide](std::size_t count) {
                      team.run([=] { (void)device::host::multiply_add(doubles, wide, rounds * count); });
                    }});
  }
  const auto rates = peak_rates(ways, short_round_s, limits);
  return {.rate = *std::max_element(rates.begin(), rates.end()),
          .method = fmt::format("multiply-adds in registers, {}, cores: {}", doubles ? "f64" : "f32", cores)};
}

std::optional<device::Buffer> Ceilings::allocate_on_all(Memory memory, std::size_t bytes) {
  device::Buffer buffer;
  const auto self = static_cast<std::size_t>(communicator_.rank());
  std::size_t sharers = 0;  // ranks that share the memory with this one
  for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
    sharers += hosts_[rank] == hosts_[self] && (!on_gpu(memory) || gpus_[rank] == gpus_[self]) ? 1 : 0;
  }
  const std::string problem = problem_of([&] {
    if (bytes * sharers > device_.available(memory) / 10 * 9) throw Error("no room");
    buffer = device_.allocate(memory, bytes);
  });
  if (!communicator_.first(problem).empty()) return std::nullopt;
  return buffer;
}

Ceilings::Peak Ceilings::square_products(DataType type, device::Blas& blas, Memory memory, const Peak& known,
                                         const measure::PeakLimits& limits) {
  constexpr measure::PeakLimits a_look{.quiet_rounds = 1, .least_s = 0};
  Peak best = known;
  for (std::size_t n = smallest_square; known.n == 0 && n <= largest_square; n *= 2) {
    const Peak product = square_product(type, n, blas, memory, a_look);
    if (product.rate == 0) break;
    best = best.or_better(product);
    if (device::flops_of({.type = type, .m = n, .n = n, .k = n}) / product.rate > long_enough_s) break;
  }
  return best.n == 0 ? best : best.or_better(square_product(type, best.n, blas, memory, limits));
}

Ceilings::Peak Ceilings::square_product(DataType type, std::size_t n, device::Blas& blas, Memory memory,
                                        const measure::PeakLimits& limits) {
  const std::size_t bytes = n * n * size_of(type);
  const auto matrices = allocate_on_all(memory, 3 * bytes);
  if (!matrices) return {};
  pattern::write_numbers(*device_.stream(memory), matrices->data(), 2 * n * n * components(type), type, n);
  auto* const a = matrices->as<std::byte>();
  const device::Gemm square{.type = type,
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
  const auto method = fmt::format("products of {0} x {0} x {0}, {1}, every bit in use", n, name(type));
  return {.rate = rate_of(square, blas, memory, limits), .method = method, .n = n};
}

measure::Ceiling Ceilings::measure(const CallCeiling& ceiling, device::Stream& stream, double case_s) const {
  const double most_s = std::min(calls_s, measure::limits_after(case_s).most_s);
  double seconds = 0;
  double spent = 0;  // equal on all ranks
  for (const auto& call : ceiling.calls) {
    std::vector<double> samples;
    const double until = spent + most_s / static_cast<double>(ceiling.calls.size());
    for (std::size_t i = 0; i < most_calls && (i < fewest_calls || spent < until); ++i) {
      communicator_.barrier();
      const Stopwatch stopwatch;
      call();
      stream.wait();
      samples.push_back(communicator_.sum_of_reals(stopwatch.seconds()) / communicator_.size());
      spent += samples.back();
      heartbeat();
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

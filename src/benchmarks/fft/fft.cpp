// CP2K's test of its plane-wave transforms (PW_TRANSFER of its library tests): a grid is transformed backward and
// forward, again and again, with a barrier before and after.
//
// Until 2008 CP2K made a sub-communicator at every transpose; a profile showed MPI_Cart_sub above all else, and keeping
// them was worth 12% of a whole simulation on 512 cores (I. Bethune, "Improving the performance of CP2K on HECToR",
// 2009). Both are measured.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "benchmarks/fft/options.hpp"
#include "benchmarks/fft/plane_waves.hpp"
#include "fft/distributed_fft.hpp"
#include "harness/benchmark.hpp"

namespace commlens {
namespace {

using fft::DistributedFft;
using fft::Layout;

constexpr Metric time_ms{"time_ms", unit::ms, Better::lower, "time of a backward and a forward transform"};
constexpr Metric cp2k_Mflops{"cp2k_Mflops", unit::Mflops, Better::higher,
                             "operations of both transforms by CP2K's formula, 2*nx*ny*nz*30*ln(the largest of nx, ny, "
                             "nz), over the time",
                             "rate by CP2K's count"};
constexpr Metric fft_GFLOPs{"fft_GFLOPs", unit::GFLOPs, Better::higher,
                            "operations of both transforms by the usual count, 5*N*log2(N) for each transform of N "
                            "points, over the time",
                            "rate by the usual count"};

std::vector<measure::CaseMetric> metrics(const FftOptions& options) {
  const double points = options.points();
  const auto largest = static_cast<double>(*std::max_element(options.grid.begin(), options.grid.end()));
  return {time_ms(), cp2k_Mflops(2 * points * 30 * std::log(largest)), fft_GFLOPs(2 * 5 * points * std::log2(points))};
}

std::vector<Part> parts(bool cached) {
  std::vector<Part> parts{
      {fft::part::local_fft, "transform"}, {fft::part::packing, "transform"}, {fft::part::communication, "transform"}};
  if (!cached) parts.push_back({fft::part::communicators, "transform"});
  return parts;
}

/// What passes over the data must take: of the whole, of packing, and of the bytes that leave a rank.
std::vector<CeilingRequest> ceilings(Run& run, const FftOptions& options, const Layout& layout,
                                     DistributedFft& transform) {
  const std::size_t size = size_of(options.type);
  const auto share = static_cast<std::size_t>(std::ceil(options.points() / run.ranks()));
  const auto read_and_written = [&](std::size_t elements) { return static_cast<double>(2 * elements * size); };
  const double working_set = read_and_written(share);
  const std::size_t packed = DistributedFft::packed(layout);
  // Slabs are transformed along y and z at once.
  const std::size_t passes = layout.distribution.slabs() ? 1 : 2;
  const std::size_t transformed = 2 * (passes * layout.points() + layout.second.after());
  const int partner = layout.distribution.p > 1 ? run.rank() + layout.distribution.q : run.rank() + 1;
  std::vector<CeilingRequest> ceilings{
      MemoryCeiling{.bytes = read_and_written(transformed + packed), .working_set = working_set},
      MemoryCeiling{.bytes = read_and_written(packed), .working_set = working_set, .part = fft::part::packing}};
  if (run.ranks() == 1) return ceilings;
  ceilings.emplace_back(CopyCeiling{.bytes = share * size,
                                    .copies = 2.0 * static_cast<double>(layout.sent()) / static_cast<double>(share),
                                    .peer = partner % run.ranks(),
                                    .part = fft::part::communication});
  if (options.cached()) {
    ceilings.emplace_back(CallCeiling{.name = "alltoall alone",
                                      .method = "alltoallvs of the same bytes over the same transport",
                                      .part = fft::part::communication,
                                      .bytes = 2 * layout.sent() * size,
                                      .calls = transform.exchanges()});
  }
  return ceilings;
}

measure::Repetition repetition(double points) {
  constexpr double small = 64.0 * 64 * 64;
  constexpr double medium = 128.0 * 128 * 128;
  const std::size_t repeat = points <= small ? 100 : points <= medium ? 25 : 10;
  return {.timing = measure::Timing::each, .repeat = repeat, .warmup = 2, .batches = 10};
}

/// A round trip cannot see what is wrong alike in both directions: the first rounds look at the points too.
Verdict verify(PlaneWaves& waves, const DistributedFft& transform, std::size_t round, double tolerance) {
  Verdict verdict = waves.compare_coefficients(transform.coefficients(), tolerance);
  Verdict of_points;
  if (round == 1) of_points = waves.compare_points(transform.points(), tolerance);
  if (round == 2 || round == 3) of_points = waves.compare_a_point(transform.points(), 10 * tolerance);
  verdict.elements += of_points.elements;
  if (verdict.error.empty()) verdict.error = of_points.error;
  return verdict;
}

void fft_pairs(Run& run, const FftOptions& options) {
  if (options.splits() && !run.transport().can_split()) throw Unsupported("this transport has no sub-communicators");
  const Layout layout(options.distribution, run.rank());
  DistributedFft transform(layout, options.type, options.exchange, options.cached(), run.context());
  PlaneWaves waves(run, layout, transform.rows(), options.type);
  const auto pair = [&](StepObserver* observer) {
    transform.backward(observer);
    transform.forward(observer);
    run.barrier();  // CP2K's time of a loop ends behind one
  };
  // The first round, which is the warm-up if there is one, has a plane wave; the others numbers of every bit.
  const auto kind = [](std::size_t round) { return round == 1 ? PlaneWaves::Kind::wave : PlaneWaves::Kind::numbers; };
  const double tolerance = options.type == DataType::c64 ? 1e-5 : 1e-11;
  run.measure({.operation = "backward and forward transform",
               .reset = [&](std::size_t round) { waves.write(transform.coefficients(), kind(round), round); },
               .operate = [&] { pair(nullptr); },
               .verify =
                   [&](std::size_t round, std::size_t operations) {
                     return verify(waves, transform, round, tolerance * static_cast<double>(operations));
                   },
               .exact = false,
               .repetition = repetition(options.points()),
               .metrics = metrics(options),
               .parts = parts(options.cached()),
               .trace = [&](StepObserver& observer) { pair(&observer); },
               .ceilings = ceilings(run, options, layout, transform)});
}

BENCHMARK("fft", "a distributed FFT, with sub-communicators made anew or cached (CP2K's PW_TRANSFER test)", fft_pairs,
          FftOptions, .metrics = {time_ms, cp2k_Mflops, fft_GFLOPs}, .divides_work = true);

}  // namespace
}  // namespace commlens

// CP2K's test of its plane-wave transforms (PW_TRANSFER of its library tests): a grid is transformed backward and
// forward, again and again, with a barrier before and after.
//
// Until 2008 CP2K made a sub-communicator at every transpose; a profile showed MPI_Cart_sub above all else, and keeping
// them was worth 12% of a whole simulation on 512 cores (I. Bethune, "Improving the performance of CP2K on HECToR",
// 2009). Both ways are measured.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "benchmarks/box_option.hpp"
#include "benchmarks/known_waves.hpp"
#include "fft/distributed_fft.hpp"
#include "harness/benchmark.hpp"
#include "harness/tracer.hpp"
#include "harness/usage_error.hpp"

namespace commlens {
namespace {

using fft::Distribution;
using fft::Extents;
using fft::Layout;

double points_of(const Extents& grid) {
  return static_cast<double>(grid[0]) * static_cast<double>(grid[1]) * static_cast<double>(grid[2]);
}

struct FftOptions {
  Extents grid{125, 125, 125};  // CP2K's bench_64: 64 waters, 280 Ry
  std::string grid_of_ranks;    ///< empty: chosen by settle()
  Variants communicators{.all = {"per-transpose", "cached"}, .chosen = {"per-transpose", "cached"}, .current = {}};
  std::string exchange = "alltoallv";
  DataType type = DataType::c128;
  std::string grid_span = "full";
  std::string trace;
  Distribution distribution;  ///< made of the above by settle()

  void describe(OptionSet& options);
  void settle(int ranks);
  [[nodiscard]] std::vector<std::string> fit(const Room& room, int ranks) const;
  [[nodiscard]] Footprint footprint(int rank, int ranks) const;
  [[nodiscard]] static device::Memory memory(int /*rank*/, int /*ranks*/, device::Memory chosen) { return chosen; }

  /// Whether there is a sub-communicator: rays travel between all ranks, and slabs have no other transpose.
  [[nodiscard]] bool divides() const { return distribution.span == fft::Span::full || !distribution.slabs(); }
  [[nodiscard]] bool cached() const { return communicators.current == "cached"; }
  [[nodiscard]] fft::Exchange how() const {
    return exchange == "alltoallv"  ? fft::Exchange::alltoallv
           : exchange == "pairwise" ? fft::Exchange::pairwise
                                    : fft::Exchange::pipelined;
  }
  [[nodiscard]] double tolerance() const { return type == DataType::c64 ? 1e-5 : 1e-11; }
};

void FftOptions::describe(OptionSet& options) {
  communicators.current = communicators.chosen.front();
  auto& sized = options.add_text(
      "grid", [this](const std::string& text) { grid = parse_box("grid", text, "points"); },
      [this] { return text_of(grid); }, "points in x, y and z: 125 for a cube, or 125,125,100");
  sized.sizes = true;
  auto& ranks = options.add_text(
      "grid-of-ranks", [this](const std::string& text) { grid_of_ranks = text; },
      [this] { return grid_of_ranks.empty() ? "slabs if there are as many points in x as ranks" : grid_of_ranks; },
      "p,q: x over p ranks, y over q; with q = 1 slabs and one transpose, otherwise pencils and two");
  ranks.value = [this] { return std::to_string(distribution.p) + "x" + std::to_string(distribution.q); };
  options.add_variants("communicators", communicators, "both",
                       "sub-communicators: per-transpose, made anew every time; cached, made once; or both in turn");
  options.add_choice("exchange", exchange, {"alltoallv", "pairwise", "pipelined"},
                     "in one call; to one peer after the other; or so that packing and messages overlap");
  options.add("dtype", type, "type of an element: c128, c64");
  options.add_choice("grid-span", grid_span, {"full", "sphere"},
                     "all coefficients, or those inside the cutoff sphere, along rays");
  options.add_trace(trace);
}

void FftOptions::settle(int ranks) {
  if (size_of(type) == 0 || components(type) != 2) {
    throw UsageError("dtype", std::string(name(type)), "a transform is of complex numbers: write c128 or c64");
  }
  distribution = fft::default_distribution(grid, ranks);
  if (!grid_of_ranks.empty()) {
    const auto sizes = parse_extents("grid-of-ranks", grid_of_ranks);
    const auto product = sizes.size() == 2 ? static_cast<double>(sizes[0]) * static_cast<double>(sizes[1]) : 0;
    if (product != ranks) {
      throw UsageError("grid-of-ranks", grid_of_ranks,
                       "write p,q with p times q equal to the " + std::to_string(ranks) + " ranks, such as " +
                           std::to_string(distribution.p) + "," + std::to_string(distribution.q));
    }
    distribution.p = static_cast<int>(sizes[0]);
    distribution.q = static_cast<int>(sizes[1]);
  }
  distribution.span = grid_span == "sphere" ? fft::Span::sphere : fft::Span::full;
  if (divides()) return;
  communicators.chosen = {"cached"};
  communicators.current = "cached";
}

/// As many points a rank as there are, or nearly so: the layout itself of a request beyond any machine would not fit.
double bytes_about(const Extents& grid, int ranks, DataType type) {
  return 6 * points_of(grid) / ranks * static_cast<double>(size_of(type));
}

std::vector<std::string> FftOptions::fit(const Room& room, int ranks) const {
  const double free = room.on_gpu ? room.buffers : room.host;
  const double needed = bytes_about(grid, ranks, type);
  if (needed > free) {
    const auto cube = std::cbrt(free / bytes_about({1, 1, 1}, ranks, type));
    throw UsageError("grid", text_of(grid),
                     "needs about " + binary_bytes(needed) + " on each rank, where " + binary_bytes(free) +
                         " are free: the largest cube that fits is about " +
                         std::to_string(static_cast<std::size_t>(cube)));
  }
  std::vector<std::string> notes;
  if (!divides()) {
    notes.emplace_back("rays travel between all ranks, and slabs have no other transpose: no sub-communicator is made");
  }
  const auto [nx, ny, nz] = grid;
  const auto [p, q] = std::pair(static_cast<std::size_t>(distribution.p), static_cast<std::size_t>(distribution.q));
  const bool idle = nx < p || ny < q || nz < q || (distribution.span == fft::Span::full && ny < p);
  if (idle) {
    notes.push_back("a grid of " + text_of(grid) + " has fewer points than the " + std::to_string(p) + " x " +
                    std::to_string(q) +
                    " ranks in a direction: at some step some ranks have none, and take part with nothing");
  }
  return notes;
}

Footprint FftOptions::footprint(int rank, int /*ranks*/) const {
  const Layout layout(distribution, rank);
  const auto size = static_cast<double>(size_of(type));
  // An exchange with each peer has a stage of its own, for each direction; an alltoallv one for what it sends and one
  // for what it receives.
  const std::size_t messages = how() == fft::Exchange::alltoallv ? 0 : 4 * layout.sent();
  return {.buffers = fft::DistributedFft::bytes(layout, type) + KnownWaves::bytes(),
          .operation = (2 * static_cast<double>(layout.blocks()) + static_cast<double>(messages)) * size};
}

/// Gives the steps of a transform to the harness.
class Steps final : public fft::Observer {
 public:
  explicit Steps(Tracer& tracer) : tracer_(tracer) {}
  void begin(const char* part, device::Stream& stream) override {
    tracer_.begin({"transform", part, number_++}, stream);
  }
  void end(device::Stream& stream) override { tracer_.end(stream); }

 private:
  Tracer& tracer_;
  std::size_t number_ = 0;
};

std::vector<measure::Figure> figures(const Extents& grid) {
  using measure::Better;
  const double points = points_of(grid);
  const auto largest = static_cast<double>(*std::max_element(grid.begin(), grid.end()));
  const double as_cp2k_counts = 2 * points * 30 * std::log(largest);
  const double as_others_count = 2 * 5 * points * std::log2(points);
  return {{"time_ms", Better::lower, [](double seconds) { return seconds * 1e3; }},
          {"cp2k_Mflops", Better::higher, [=](double seconds) { return as_cp2k_counts / seconds * 1e-6; }},
          {"fft_GFLOPs", Better::higher, [=](double seconds) { return as_others_count / seconds * 1e-9; }}};
}

std::vector<Part> parts(bool cached) {
  std::vector<Part> parts{
      {fft::part::local_fft, "transform"}, {fft::part::packing, "transform"}, {fft::part::communication, "transform"}};
  if (!cached) parts.push_back({fft::part::communicators, "transform"});
  return parts;
}

/// What passes over the data must take: of the whole, of packing, and of the bytes that leave a rank.
std::vector<CeilingRequest> ceilings(Run& run, const FftOptions& options, const Layout& layout,
                                     fft::DistributedFft& transform) {
  const std::size_t size = size_of(options.type);
  const auto share = static_cast<std::size_t>(std::ceil(points_of(options.grid) / run.ranks()));
  const auto in_shares = [&](std::size_t elements) {
    return static_cast<double>(elements) / static_cast<double>(share);
  };
  const std::size_t packed = fft::DistributedFft::packed(layout);
  // Slabs are transformed along y and z at once.
  const std::size_t passes = layout.distribution.slabs() ? 1 : 2;
  const std::size_t transformed = 2 * (passes * layout.points() + layout.second.after());
  const int partner = layout.distribution.p > 1 ? run.rank() + layout.distribution.q : run.rank() + 1;
  std::vector<CeilingRequest> ceilings{
      CopyCeiling{.bytes = share * size, .copies = in_shares(transformed + packed), .peer = run.rank()},
      CopyCeiling{.bytes = share * size, .copies = in_shares(packed), .peer = run.rank(), .part = fft::part::packing}};
  if (run.ranks() == 1) return ceilings;
  ceilings.emplace_back(CopyCeiling{.bytes = share * size,
                                    .copies = in_shares(2 * layout.sent()),
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

measure::Repetition repetition(const Extents& grid) {
  const double points = points_of(grid);
  constexpr double small = 64.0 * 64 * 64;
  constexpr double medium = 128.0 * 128 * 128;
  const std::size_t repeat = points <= small ? 100 : points <= medium ? 25 : 10;
  return {.timing = measure::Timing::each, .repeat = repeat, .warmup = 2, .batches = 10};
}

void fft_pairs(Run& run, const FftOptions& options) {
  if (options.divides() && !run.transport().divides()) throw Unfit("this transport has no sub-communicators");
  const Layout layout(options.distribution, run.rank());
  fft::DistributedFft transform(layout, options.type, options.how(), options.cached(),
                                {.communicator = run.communicator(),
                                 .transport = run.transport(),
                                 .device = run.device(),
                                 .memory = run.memory(),
                                 .stream = run.stream(),
                                 .allocate = [&](std::size_t bytes) { return run.buffer(bytes); }});
  KnownWaves waves(run, layout, transform.rows(), options.type);
  const auto pair = [&](fft::Observer* observer) {
    transform.backward(observer);
    transform.forward(observer);
    run.barrier();  // CP2K's time of a loop ends behind one
  };
  // The first round, which is the warm-up if there is one, shows a plane wave; the others numbers of every bit.
  const auto kind = [](std::size_t round) { return round == 1 ? KnownWaves::Kind::wave : KnownWaves::Kind::numbers; };
  run.measure({.operation = "backward and forward transform",
               .reset = [&](std::size_t round) { waves.write(transform.coefficients(), kind(round), round); },
               .operate = [&] { pair(nullptr); },
               .verify =
                   [&](std::size_t round, std::size_t operations) {
                     const double tolerance = options.tolerance() * static_cast<double>(operations);
                     Verdict verdict = waves.compare_coefficients(transform.coefficients(), tolerance);
                     // A round trip cannot see what is wrong alike in both directions: the first rounds look at the
                     // points.
                     Verdict of_points;
                     if (round == 1) of_points = waves.compare_points(transform.points(), tolerance);
                     if (round == 2 || round == 3) {
                       of_points = waves.compare_a_point(transform.points(), 10 * tolerance);
                     }
                     verdict.elements += of_points.elements;
                     if (verdict.error.empty()) verdict.error = of_points.error;
                     return verdict;
                   },
               .exact = false,
               .repetition = run.repetition(repetition(options.grid)),
               .figures = figures(options.grid),
               .parts = parts(options.cached()),
               .trace =
                   [&](Tracer& tracer) {
                     Steps steps(tracer);
                     pair(&steps);
                   },
               .ceilings = ceilings(run, options, layout, transform)});
}

BENCHMARK("fft", "a distributed FFT, with sub-communicators made anew or kept (CP2K's PW_TRANSFER test)", fft_pairs,
          FftOptions);

}  // namespace
}  // namespace commlens

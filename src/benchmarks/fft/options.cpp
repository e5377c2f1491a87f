#include "benchmarks/fft/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/error.hpp"
#include "benchmarks/fft/plane_waves.hpp"
#include "fft/distributed_fft.hpp"

namespace commlens {

using fft::Distribution;
using fft::Extents;
using fft::Span;

void FftOptions::describe(OptionSet& options) {
  options
      .add_text(
          "grid", [this](const std::string& text) { grid = parse_box("grid", text, "points"); },
          [this] { return box_text(grid); }, "points in x, y and z: 125 for a cube, or 125,125,100")
      .sets_the_size();
  options
      .add_text(
          "grid-of-ranks", [this](const std::string& text) { grid_of_ranks = text; },
          [this] { return grid_of_ranks.empty() ? "slabs if there are as many points in x as ranks" : grid_of_ranks; },
          "p,q: x over p ranks, y over q; with q = 1 slabs and one transpose, otherwise pencils and two")
      .recorded_as([this] { return fmt::format("{}x{}", distribution.p, distribution.q); })
      .role(grid_of_ranks.empty() ? measure::Role::derived : measure::Role::setting);
  options.add("communicators", communicators, "both",
              "sub-communicators: made anew at every transpose; or made once and cached; or both in turn");
  options.add("exchange", exchange,
              "in one call; to one peer after the other; or so that packing and messages overlap");
  options.add("dtype", type, "type of an element; must be complex");
  options.add("grid-span", grid_span, "all coefficients; or those inside the cutoff sphere, along rays");
  options.add_timeline(timeline);
}

double FftOptions::points() const {
  return static_cast<double>(grid[0]) * static_cast<double>(grid[1]) * static_cast<double>(grid[2]);
}

Distribution FftOptions::distribute(const Extents& points, int ranks) const {
  Distribution distributed = fft::default_distribution(points, ranks);
  distributed.span = grid_span;
  if (grid_of_ranks.empty()) return distributed;
  const auto sizes = parse_extents("grid-of-ranks", grid_of_ranks);
  const auto product = sizes.size() == 2 ? static_cast<double>(sizes[0]) * static_cast<double>(sizes[1]) : 0;
  if (product != ranks) {
    throw UsageError("grid-of-ranks", grid_of_ranks,
                     fmt::format("write p,q with p times q equal to the {} ranks, such as {},{}", ranks, distributed.p,
                                 distributed.q));
  }
  distributed.p = static_cast<int>(sizes[0]);
  distributed.q = static_cast<int>(sizes[1]);
  return distributed;
}

void FftOptions::resolve(int ranks) {
  if (components(type) != 2) {
    throw UsageError("dtype", std::string(name(type)), "a transform is of complex numbers: write c128 or c64");
  }
  distribution = distribute(grid, ranks);
  if (!splits()) communicators.values = {Communicators::cached};
}

MemoryEstimate FftOptions::estimate(const Distribution& of) const {
  // An exchange with each peer has a stage of its own, for each direction of each transpose; an alltoallv one for what
  // it sends and one for what it receives.
  const int stages = exchange == fft::Exchange::alltoallv ? 2 : 2 + 4 * (of.slabs() ? 1 : 2);
  return {.buffers = fft::upper_bytes(of, type) + PlaneWaves::sum_bytes,
          .operation = stages * fft::largest_share(of) * static_cast<double>(size_of(type))};
}

/// The cube that it names fits with every transport.
void FftOptions::refuse(const MemoryBudget& budget, int ranks) const {
  std::size_t largest = 1;
  for (std::size_t beyond = *std::max_element(grid.begin(), grid.end()); beyond - largest > 1;) {
    const std::size_t middle = largest + (beyond - largest) / 2;
    (budget.fits(estimate(distribute({middle, middle, middle}, ranks))) ? largest : beyond) = middle;
  }
  refuse_for_memory("grid", box_text(grid), estimate(distribution), budget,
                    fmt::format("the largest cube that fits is about {}", largest));
}

std::vector<std::string> FftOptions::scale_to_memory(const MemoryBudget& budget, int ranks) const {
  // Staging is needed by some transports only: the harness looks at those that are asked for.
  if (!budget.fits({.buffers = estimate(distribution).buffers})) refuse(budget, ranks);
  std::vector<std::string> notes;
  if (!splits()) {
    notes.emplace_back("rays travel between all ranks, and slabs have no other transpose: no sub-communicator is made");
  }
  const auto [nx, ny, nz] = grid;
  const auto [p, q] = std::pair(static_cast<std::size_t>(distribution.p), static_cast<std::size_t>(distribution.q));
  const bool idle = nx < p || ny < q || nz < q || (distribution.span == Span::full && ny < p);
  if (idle) {
    notes.push_back(
        fmt::format("a grid of {} has fewer points than the {} x {} ranks in a direction: at some step some ranks have "
                    "none, and take part with empty messages",
                    box_text(grid), p, q));
  }
  return notes;
}

}  // namespace commlens

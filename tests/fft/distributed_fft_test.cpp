// Distributed transforms over every transport: there and back, the parts of their steps, and the memory they allocate.
#include "fft/distributed_fft.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "world.hpp"

namespace commlens::fft {
namespace {

using device::Memory;
using Coefficients = std::vector<std::complex<double>>;

std::vector<Distribution> distributions(const Extents& grid, int ranks) {
  std::vector<Distribution> all;
  for (int q = 1; q <= ranks; ++q) {
    if (ranks % q != 0) continue;
    for (const Span span : all_values<Span>()) all.push_back({.grid = grid, .p = ranks / q, .q = q, .span = span});
  }
  return all;
}

std::string text(const Distribution& of) {
  return std::to_string(of.grid[0]) + "x" + std::to_string(of.grid[1]) + "x" + std::to_string(of.grid[2]) + " on " +
         std::to_string(of.p) + "x" + std::to_string(of.q) + ", " + std::string(name(of.span));
}

/// Which parts there were.
class Parts final : public StepObserver {
 public:
  void begin(std::string_view part, device::Stream& /*stream*/, std::optional<std::size_t> /*index*/) override {
    EXPECT_FALSE(open_) << "a step within a step";
    open_ = true;
    seen.emplace(part);
  }
  void end(device::Stream& /*stream*/) override { open_ = false; }

  std::set<std::string> seen;

 private:
  bool open_ = false;
};

class DistributedFftIn : public InPlace {
 protected:
  /// Some numbers that differ from each other and between ranks.
  [[nodiscard]] Coefficients some(std::size_t count) const {
    Coefficients values(count);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = {static_cast<double>((i * 37 + static_cast<std::size_t>(rank) * 11) % 101),
                   static_cast<double>(i % 7)};
    }
    return values;
  }

  void expect_round_trip(const Distribution& distribution, Exchange exchange, bool cached) {
    const Layout layout(distribution, rank);
    DistributedFft transform(layout, DataType::c128, exchange, cached, context());
    const Coefficients before = some(layout.coefficients());
    device::upload(before, transform.coefficients(), *stream);
    Parts parts;
    transform.backward(&parts);
    transform.forward(&parts);
    const auto after =
        device::download(static_cast<const std::complex<double>*>(transform.coefficients()), before.size(), *stream);
    double largest = 0;
    for (std::size_t i = 0; i < before.size(); ++i) largest = std::max(largest, std::abs(after[i] - before[i]));
    EXPECT_LT(largest, 1e-11) << text(distribution) << ", " << name(exchange) << (cached ? ", cached" : "");
    EXPECT_TRUE(parts.seen.contains(part::local_fft));
    EXPECT_TRUE(parts.seen.contains(part::packing));
    EXPECT_TRUE(ranks == 1 || parts.seen.contains(part::communication));
    const bool splits = distribution.span == Span::full || !distribution.slabs();
    EXPECT_EQ(parts.seen.contains(part::communicators), splits && !cached) << text(distribution);
  }
};

TEST_P(DistributedFftIn, LeadsThereAndBack) {
  for (const Extents& grid : {Extents{6, 5, 7}, Extents{2, 3, 1}}) {
    for (const Distribution& distribution : distributions(grid, ranks)) {
      for (const Exchange exchange : all_values<Exchange>()) {
        for (const bool cached : {false, true}) expect_round_trip(distribution, exchange, cached);
      }
    }
  }
}

/// Memory does not depend on the transport.
class DistributedFftMemory : public InPlace {};

TEST_P(DistributedFftMemory, IsAtMostTheEstimate) {
  for (const Extents& grid : {Extents{1, 1, 1}, Extents{2, 3, 1}, Extents{13, 7, 10}, Extents{64, 3, 2},
                              Extents{3, 2, 64}, Extents{3, 64, 2}, Extents{16, 16, 16}}) {
    for (const Distribution& distribution : distributions(grid, ranks)) {
      for (const DataType type : {DataType::c64, DataType::c128}) {
        const Layout layout(distribution, rank);
        allocated = 0;
        const DistributedFft transform(layout, type, Exchange::alltoallv, true, context());
        EXPECT_LE(allocated, upper_bytes(distribution, type)) << text(distribution) << ", " << name(type);
      }
    }
  }
}

TEST_P(DistributedFftMemory, IsNotMuchLessThanTheEstimate) {
  for (const Distribution& distribution : distributions({48, 48, 48}, ranks)) {
    const Layout layout(distribution, rank);
    allocated = 0;
    const DistributedFft transform(layout, DataType::c128, Exchange::alltoallv, true, context());
    EXPECT_LT(upper_bytes(distribution, DataType::c128), 1.5 * world().maximum(allocated)) << text(distribution);
  }
}

INSTANTIATE_TEST_SUITE_P(Places, DistributedFftIn,
                         testing::Values(Place{"mpi", Memory::host}, Place{"peer", Memory::host},
                                         Place{"staged", Memory::host}, Place{"staged", Memory::device},
                                         Place{"ccl", Memory::device}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Memories, DistributedFftMemory,
                         testing::Values(Place{"staged", Memory::host}, Place{"staged", Memory::device}), name_of);

}  // namespace
}  // namespace commlens::fft

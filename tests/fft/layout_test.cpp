// Layouts and redistributions of all ranks, computed in one process.
#include "fft/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numeric>
#include <ostream>
#include <utility>
#include <vector>

#include "fft/redistribution.hpp"

namespace commlens::fft {
namespace {

using Element = std::complex<double>;
using Array = std::vector<Element>;

TEST(EvenSplit, IsCp2ksAndCoversTheAxis) {
  for (const std::size_t points : {0, 1, 2, 7, 10, 64, 125}) {
    for (int ranks = 1; ranks <= 20; ++ranks) {
      std::size_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Range range = even_split(points, rank, ranks);
        EXPECT_EQ(range.begin, next);
        // Fortran's NINT rounds halves away from zero, as std::round does.
        EXPECT_EQ(range.end(),
                  static_cast<std::size_t>(std::round((rank + 1.0) * static_cast<double>(points) / ranks)));
        next = range.end();
      }
      EXPECT_EQ(next, points);
    }
  }
}

TEST(DefaultDistribution, IsSlabsAsLongAsThereAreEnoughPoints) {
  const auto of = [](std::size_t nx, int ranks) {
    const Distribution chosen = default_distribution({nx, 8, 8}, ranks);
    return std::pair(chosen.p, chosen.q);
  };
  EXPECT_EQ(of(125, 4), std::pair(4, 1));
  EXPECT_EQ(of(12, 12), std::pair(12, 1));
  EXPECT_EQ(of(11, 12), std::pair(4, 3));
  EXPECT_EQ(of(1, 16), std::pair(4, 4));
  EXPECT_EQ(of(2, 7), std::pair(7, 1));
}

TEST(Rays, HoldEveryCoefficientInsideTheSphereOnce) {
  for (const Extents& grid : {Extents{8, 8, 8}, Extents{13, 7, 10}, Extents{1, 1, 1}, Extents{2, 3, 5}}) {
    std::size_t inside = 0;
    for (std::size_t x = 0; x < grid[0]; ++x) {
      for (std::size_t y = 0; y < grid[1]; ++y) {
        for (std::size_t z = 0; z < grid[2]; ++z) {
          const std::size_t index[3] = {x, y, z};
          double distance = 0;
          for (int axis = 0; axis < 3; ++axis) {
            const double g = static_cast<double>(frequency(index[axis], grid[axis]));
            distance += std::pow(2 * g / static_cast<double>(grid[axis]), 2);
          }
          inside += distance < 1 - 1e-12 ? 1 : 0;
        }
      }
    }
    for (const int ranks : {1, 3, 4}) {
      std::vector<std::size_t> load(static_cast<std::size_t>(ranks));
      std::size_t longest = 0;
      for (const Ray& ray : rays_of_sphere(grid, ranks)) {
        load.at(ray.owner) += ray.count();
        longest = std::max(longest, ray.count());
      }
      EXPECT_EQ(std::accumulate(load.begin(), load.end(), std::size_t{0}), inside);
      const auto [least, most] = std::minmax_element(load.begin(), load.end());
      EXPECT_LE(*most - *least, longest);
    }
  }
}

/// A number for each point of the grid.
Element value(const Extents& grid, std::size_t x, std::size_t y, std::size_t z) {
  return {static_cast<double>((x * grid[1] + y) * grid[2] + z), 1};
}

/// One rank's side of a redistribution in host memory.
struct Side {
  Side(const Redistribution& of, device::Device& device)
      : plan(of),
        stream(device.stream(device::Memory::host)),
        packer(
            of, DataType::c128, [&](std::size_t bytes) { return device.allocate(device::Memory::host, bytes); },
            *stream),
        before(of.held_stride * of.held + of.spectators * of.spectator_stride + largest_place(of) + 1),
        after(of.after()),
        blocks_before(of.before()),
        blocks_after(of.after()) {}

  static std::size_t largest_place(const Redistribution& of) {
    return of.places.empty() ? 0 : *std::max_element(of.places.begin(), of.places.end());
  }
  [[nodiscard]] Arrays arrays() { return {before.data(), after.data(), blocks_before.data(), blocks_after.data()}; }

  const Redistribution& plan;
  std::unique_ptr<device::Stream> stream;
  Packer packer;
  Array before;
  Array after;
  Array blocks_before;
  Array blocks_after;
};

/// What an alltoallv does: block d of rank r becomes block r of rank d.
void exchange(std::vector<Side*>& line, bool forward) {
  const std::size_t size = sizeof(Element);
  for (std::size_t r = 0; r < line.size(); ++r) {
    for (std::size_t d = 0; d < line.size(); ++d) {
      const auto of_sender = forward ? line[r]->plan.blocks_before(size) : line[r]->plan.blocks_after(size);
      const auto of_receiver = forward ? line[d]->plan.blocks_after(size) : line[d]->plan.blocks_before(size);
      Array& from = forward ? line[r]->blocks_before : line[r]->blocks_after;
      Array& to = forward ? line[d]->blocks_after : line[d]->blocks_before;
      ASSERT_EQ(of_sender[d].bytes, of_receiver[r].bytes) << r << " to " << d;
      EXPECT_TRUE(r != d || of_sender[d].bytes == 0) << r << " sends to itself";
      if (of_sender[d].bytes == 0) continue;
      std::memcpy(reinterpret_cast<std::byte*>(to.data()) + of_receiver[r].offset,
                  reinterpret_cast<const std::byte*>(from.data()) + of_sender[d].offset, of_sender[d].bytes);
    }
  }
}

struct Case {
  Extents grid;
  int p;
  int q;
  Span span;

  /// The name of the test.
  friend std::ostream& operator<<(std::ostream& out, const Case& parameters) {
    return out << parameters.grid[0] << 'x' << parameters.grid[1] << 'x' << parameters.grid[2] << " on " << parameters.p
               << 'x' << parameters.q << (parameters.span == Span::sphere ? ", sphere" : "");
  }
};

class Redistributions : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Case& parameters = GetParam();
    const Distribution distribution{
        .grid = parameters.grid, .p = parameters.p, .q = parameters.q, .span = parameters.span};
    for (int rank = 0; rank < distribution.ranks(); ++rank) layouts_.emplace_back(distribution, rank);
  }

  /// From `before` to twice `after`, the array of a layout in each, and back to twice `before`. `together` tells
  /// whether two ranks are in one line.
  template <class PlanOf, class Before, class After, class Together>
  void there_and_back(PlanOf plan_of, Before before, After after, Together together) {
    const auto host = device::open_host();
    std::vector<Side> sides;
    sides.reserve(layouts_.size());
    for (const Layout& layout : layouts_) {
      Side& side = sides.emplace_back(plan_of(layout), *host);
      before(layout, side.before);
    }
    const auto exchange_all = [&](bool forward) {
      for (std::size_t first = 0; first < sides.size(); ++first) {
        if (sides[first].plan.me != 0) continue;
        std::vector<Side*> line;
        for (std::size_t other = 0; other < sides.size(); ++other) {
          if (together(static_cast<int>(first), static_cast<int>(other))) line.push_back(&sides[other]);
        }
        exchange(line, forward);
      }
    };
    const auto pack_before = [](Side& side, device::Direction direction, double factor) {
      side.packer.all_at_before(direction, side.arrays(), factor, *side.stream);
      side.stream->wait();
    };
    const auto pack_after = [](Side& side, device::Direction direction) {
      side.packer.all_at_after(direction, side.arrays(), *side.stream);
      side.stream->wait();
    };
    for (Side& side : sides) pack_before(side, device::Direction::forward, 2);
    exchange_all(true);
    for (Side& side : sides) pack_after(side, device::Direction::forward);
    for (std::size_t rank = 0; rank < sides.size(); ++rank) {
      EXPECT_EQ(sides[rank].after, after(layouts_[rank])) << "rank " << rank;
    }
    for (Side& side : sides) pack_after(side, device::Direction::backward);
    exchange_all(false);
    // Everything is in its place again, except columns that are not rays.
    for (std::size_t rank = 0; rank < sides.size(); ++rank) {
      Side& side = sides[rank];
      Array original(side.before.size());
      before(layouts_[rank], original);
      std::fill(side.before.begin(), side.before.end(), Element(-1, -1));
      pack_before(side, device::Direction::backward, 0.5);
      std::size_t back = 0;
      for (std::size_t i = 0; i < side.before.size(); ++i) {
        if (side.before[i] == Element(-1, -1)) continue;
        EXPECT_EQ(side.before[i], 2.0 * original[i]) << "rank " << rank << " element " << i;
        ++back;
      }
      EXPECT_EQ(back, side.plan.before()) << "rank " << rank;
    }
  }

  std::vector<Layout> layouts_;
};

TEST_P(Redistributions, TheSecondLeadsToRowsAndBack) {
  const auto [grid, p, q, span] = GetParam();
  const bool slabs = q == 1;
  const auto before = [&, grid = grid](const Layout& layout, Array& array) {
    for (std::size_t x = 0; x < layout.x.count; ++x) {
      for (std::size_t z = 0; z < layout.z.count; ++z) {
        for (std::size_t y = 0; y < grid[1]; ++y) {
          const std::size_t place = slabs ? (x * grid[1] + y) * grid[2] + z : (x * layout.z.count + z) * grid[1] + y;
          array[place] = value(grid, layout.x.begin + x, y, layout.z.begin + z);
        }
      }
    }
  };
  const auto rows = [grid = grid](const Layout& layout) {
    Array array;
    for (const auto& row : layout.rows) {
      for (std::size_t x = 0; x < grid[0]; ++x) array.push_back(2.0 * value(grid, x, row.y, row.z));
    }
    return array;
  };
  const bool all = span == Span::sphere;
  there_and_back([](const Layout& layout) -> const Redistribution& { return layout.second; }, before, rows,
                 [all, columns = q](int a, int b) { return all || a % columns == b % columns; });
}

TEST_P(Redistributions, TheFirstLeadsToPencilsAlongYAndBack) {
  const auto [grid, p, q, span] = GetParam();
  if (q == 1) GTEST_SKIP() << "slabs have none";
  const auto before = [grid = grid](const Layout& layout, Array& array) {
    for (std::size_t x = 0; x < layout.x.count; ++x) {
      for (std::size_t y = 0; y < layout.y.count; ++y) {
        for (std::size_t z = 0; z < grid[2]; ++z) {
          array[(x * layout.y.count + y) * grid[2] + z] = value(grid, layout.x.begin + x, layout.y.begin + y, z);
        }
      }
    }
  };
  const auto pencils = [grid = grid](const Layout& layout) {
    Array array;
    for (std::size_t x = 0; x < layout.x.count; ++x) {
      for (std::size_t z = 0; z < layout.z.count; ++z) {
        for (std::size_t y = 0; y < grid[1]; ++y) {
          array.push_back(2.0 * value(grid, layout.x.begin + x, y, layout.z.begin + z));
        }
      }
    }
    return array;
  };
  there_and_back([](const Layout& layout) -> const Redistribution& { return *layout.first; }, before, pencils,
                 [columns = q](int a, int b) { return a / columns == b / columns; });
}

INSTANTIATE_TEST_SUITE_P(Grids, Redistributions,
                         testing::Values(Case{{4, 4, 4}, 1, 1, Span::full}, Case{{13, 7, 10}, 3, 1, Span::full},
                                         Case{{13, 7, 10}, 2, 3, Span::full}, Case{{13, 7, 10}, 1, 4, Span::full},
                                         Case{{2, 3, 5}, 4, 2, Span::full}, Case{{4, 4, 4}, 1, 1, Span::sphere},
                                         Case{{13, 7, 10}, 3, 1, Span::sphere}, Case{{13, 7, 10}, 2, 3, Span::sphere},
                                         Case{{8, 9, 5}, 1, 4, Span::sphere}, Case{{1, 1, 1}, 2, 2, Span::sphere}));

}  // namespace
}  // namespace commlens::fft

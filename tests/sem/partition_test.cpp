#include "sem/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <stdexcept>
#include <vector>

#include "sem/mesh.hpp"

namespace commlens::sem {
namespace {

struct Case {
  Extents elements;
  int ranks;

  /// The name of the test.
  friend std::ostream& operator<<(std::ostream& out, const Case& parameters) {
    return out << parameters.elements[0] << 'x' << parameters.elements[1] << 'x' << parameters.elements[2] << " on "
               << parameters.ranks;
  }
};

class Partitions : public testing::TestWithParam<Case> {
 protected:
  const Partition partition_{GetParam().elements, GetParam().ranks};
};

TEST_P(Partitions, CoverEveryElementOnce) {
  std::set<Extents> seen;
  for (int rank = 0; rank < partition_.ranks(); ++rank) {
    const auto [x, y, z] = partition_.block(rank);
    EXPECT_EQ(partition_.count(rank), (x[1] - x[0]) * (y[1] - y[0]) * (z[1] - z[0]));
    EXPECT_GT(partition_.count(rank), 0U);
    for (std::size_t i = x[0]; i < x[1]; ++i) {
      for (std::size_t j = y[0]; j < y[1]; ++j) {
        for (std::size_t k = z[0]; k < z[1]; ++k) EXPECT_TRUE(seen.insert({i, j, k}).second) << "a second time";
      }
    }
  }
  const auto [nx, ny, nz] = GetParam().elements;
  EXPECT_EQ(seen.size(), nx * ny * nz);
  EXPECT_EQ(seen.empty() ? Extents{} : *seen.rbegin(), (Extents{nx - 1, ny - 1, nz - 1}));
}

TEST_P(Partitions, SendNoMoreValuesThanTheEstimate) {
  for (const int order : {1, 2, 5}) {
    std::vector<std::set<std::int64_t>> ids;         // by rank
    std::map<std::int64_t, std::size_t> ranks_with;  // by id
    for (int rank = 0; rank < partition_.ranks(); ++rank) {
      const auto mine = Mesh({.elements = GetParam().elements, .order = order}, partition_, rank).ids();
      ids.emplace_back(mine.begin(), mine.end());
      for (const std::int64_t id : ids.back()) ++ranks_with[id];
    }
    std::size_t largest = 0;
    for (const auto& mine : ids) {
      std::size_t sent = 0;
      for (const std::int64_t id : mine) sent += ranks_with[id] - 1;
      largest = std::max(largest, sent);
    }
    EXPECT_GE(values_sent(partition_, order), static_cast<double>(largest)) << "order " << order;
    if (largest == 0) {
      EXPECT_EQ(values_sent(partition_, order), 0);
    }
  }
}

/// Elements with an id that another rank has, too.
TEST_P(Partitions, BeginWithTheElementsThatTouchOthers) {
  std::map<std::int64_t, std::set<int>> owners;
  for (int rank = 0; rank < partition_.ranks(); ++rank) {
    for (const std::int64_t id : Mesh({.elements = GetParam().elements, .order = 1}, partition_, rank).ids()) {
      owners[id].insert(rank);
    }
  }
  for (int rank = 0; rank < partition_.ranks(); ++rank) {
    const Mesh mesh({.elements = GetParam().elements, .order = 1}, partition_, rank);
    const auto ids = mesh.ids();
    for (std::size_t element = 0; element < mesh.elements(); ++element) {
      const auto* first = &ids[element * mesh.nodes_per_element()];
      const bool touches =
          std::any_of(first, first + mesh.nodes_per_element(), [&](std::int64_t id) { return owners[id].size() > 1; });
      EXPECT_EQ(touches, element < mesh.boundary_elements());
      EXPECT_EQ(touches, partition_.touches_others(rank, mesh.place(element)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Boxes, Partitions,
                         testing::Values(Case{{1, 1, 1}, 1}, Case{{3, 2, 4}, 1}, Case{{4, 4, 4}, 8}, Case{{6, 4, 2}, 6},
                                         Case{{7, 3, 2}, 5}, Case{{7, 3, 2}, 42}, Case{{7, 3, 2}, 41},
                                         Case{{7, 3, 2}, 11}, Case{{2, 3, 7}, 13}, Case{{5, 5, 5}, 8},
                                         Case{{1, 1, 9}, 4}, Case{{3, 3, 3}, 26}, Case{{5, 1, 1}, 3}));

TEST(Partition, EveryNumberOfRanksUpToTheElementsIsServed) {
  for (const Extents& elements : {Extents{5, 3, 2}, Extents{3, 3, 3}, Extents{1, 7, 4}}) {
    const auto all = static_cast<int>(elements[0] * elements[1] * elements[2]);
    for (int ranks = 1; ranks <= all; ++ranks) {
      const Partition partition(elements, ranks);
      std::size_t sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += partition.count(rank);
      EXPECT_EQ(sum, static_cast<std::size_t>(all));
    }
    EXPECT_THROW(Partition(elements, all + 1), std::invalid_argument);
    EXPECT_THROW(Partition(elements, 0), std::invalid_argument);
  }
}

TEST(Partition, BoxesThatDivideAreCutIntoEqualBlocks) {
  const Partition cube({40, 40, 40}, 8);
  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(cube.count(rank), 8000U);
  EXPECT_EQ(cube.block(7), (Block{{{20, 40}, {20, 40}, {20, 40}}}));
  // nekRS sends 60067 values per rank.
  EXPECT_GE(values_sent(cube, 7), 60067);
  EXPECT_LE(values_sent(cube, 7), 1.5 * 60067);

  const Partition flat({40, 10, 10}, 4);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(flat.block(rank)[1], (std::array<std::size_t, 2>{0, 10}));
}

TEST(Partition, OthersAreBalanced) {
  const Partition partition({40, 40, 40}, 7);
  for (int rank = 0; rank < 7; ++rank) {
    EXPECT_NEAR(static_cast<double>(partition.count(rank)), 64000.0 / 7, 64000.0 / 7 * 0.1) << rank;
  }
}

TEST(MostCubic, DividesTheLongestDirectionMost) {
  EXPECT_EQ(most_cubic(8, {1, 1, 1}), (Extents{2, 2, 2}));
  EXPECT_EQ(most_cubic(2, {1, 1, 1}), (Extents{2, 1, 1}));
  EXPECT_EQ(most_cubic(12, {1, 1, 1}), (Extents{3, 2, 2}));
  EXPECT_EQ(most_cubic(4, {1, 1, 100}), (Extents{1, 1, 4}));
  EXPECT_EQ(most_cubic(7, {10, 20, 10}), (Extents{1, 7, 1}));
  EXPECT_EQ(most_cubic(1, {3, 2, 1}), (Extents{1, 1, 1}));
}

}  // namespace
}  // namespace commlens::sem

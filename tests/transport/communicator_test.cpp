#include "transport/communicator.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace commlens::transport {
namespace {

TEST(Communicator, CollectivesOfTheHarness) {
  const Communicator world(MPI_COMM_WORLD);
  EXPECT_DOUBLE_EQ(world.maximum(static_cast<double>(world.rank())), world.size() - 1.0);
  EXPECT_EQ(world.sum(world.rank()), static_cast<std::int64_t>(world.size()) * (world.size() - 1) / 2);
  std::vector<double> values{static_cast<double>(world.rank()), -static_cast<double>(world.rank())};
  world.maximum(values);
  EXPECT_EQ(values, (std::vector<double>{world.size() - 1.0, 0.0}));
  EXPECT_EQ(world.broadcast(std::string(static_cast<std::size_t>(world.rank() + 3), 'x'), world.size() - 1).size(),
            static_cast<std::size_t>(world.size() + 2));
}

TEST(Communicator, GathersTextsOfAnyLengthByRank) {
  const Communicator world(MPI_COMM_WORLD);
  const auto texts = world.gather(std::string(static_cast<std::size_t>(world.rank()), 'a'));
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(world.size()));
  for (std::size_t rank = 0; rank < texts.size(); ++rank) EXPECT_EQ(texts[rank], std::string(rank, 'a'));
}

TEST(Communicator, GathersWithOneCollectiveForTheLengthsAndOneForTheTexts) {
  // Each rank's text is unlike the others' in every byte, zeros among them; some are empty.
  const Communicator world(MPI_COMM_WORLD);
  const auto text_of = [](std::size_t rank) {
    return rank % 3 == 1 ? std::string() : std::string(1000 * rank + 7, static_cast<char>(rank));
  };
  const auto texts = world.gather(text_of(static_cast<std::size_t>(world.rank())));
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(world.size()));
  for (std::size_t rank = 0; rank < texts.size(); ++rank) EXPECT_EQ(texts[rank], text_of(rank));
}

TEST(Communicator, FirstIsTheLowestRankThatHasSomethingToSay) {
  const Communicator world(MPI_COMM_WORLD);
  EXPECT_EQ(world.first(""), "");
  const bool last = world.rank() == world.size() - 1;
  EXPECT_EQ(world.first(last ? "late" : ""), "late");
  EXPECT_EQ(world.first("rank " + std::to_string(world.rank())), "rank 0");
}

TEST(Communicator, NeighborsInAGridAreThoseOfMpi) {
  const Communicator world(MPI_COMM_WORLD);
  for (const std::size_t dimensions : {1, 2, 3}) {
    for (const bool periodic : {false, true}) {
      const Grid grid{.extents = balanced_extents(world.size(), dimensions), .periodic = periodic};
      const Communicator cartesian = world.cartesian(grid);
      std::vector<int> expected;
      for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
        int before = 0;
        int after = 0;
        CALL_MPI(MPI_Cart_shift, cartesian.handle(), static_cast<int>(dimension), 1, &before, &after);
        for (const int rank : {before, after}) expected.push_back(rank == MPI_PROC_NULL ? Grid::no_rank : rank);
      }
      EXPECT_EQ(grid.neighbors(world.rank()), expected) << dimensions << " dimensions, periodic: " << periodic;
    }
  }
}

TEST(Communicator, AGridIsAsEqualAsPossible) {
  EXPECT_EQ(balanced_extents(6, 1), (std::vector{6}));
  EXPECT_EQ(balanced_extents(7, 2), (std::vector{7, 1}));
  EXPECT_EQ(balanced_extents(16, 2), (std::vector{4, 4}));
  EXPECT_EQ(balanced_extents(24, 3), (std::vector{4, 3, 2}));
  EXPECT_EQ(balanced_extents(51, 3), (std::vector{17, 3, 1}));
  EXPECT_EQ(balanced_extents(1, 3), (std::vector{1, 1, 1}));
}

TEST(Communicator, NodeHoldsTheRanksOfOneMachine) {
  const Communicator world(MPI_COMM_WORLD);
  EXPECT_EQ(world.node().size(), world.size());  // tests run on one machine
}

TEST(Communicator, ErrorsOfMpiNameTheCall) {
  const Communicator world(MPI_COMM_WORLD);
  int value = 0;
  try {
    CALL_MPI(MPI_Send, &value, 1, MPI_INT, world.size() + 7, 0, world.handle());
    FAIL() << "sent to a rank that does not exist";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("MPI_Send: ", 0), 0U) << error.what();
  }
}

}  // namespace
}  // namespace commlens::transport

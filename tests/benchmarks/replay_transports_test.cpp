// Which collectives of a trace are the transport's, and that the others do not wait for them.
#include <cstdint>
#include <string>

#include "replays.hpp"

namespace commlens::replay {
namespace {

TEST_F(Replay, StaysWithMpiWhereNoCollectiveBlocks) {
  if (ranks_ < 2) GTEST_SKIP() << "the collectives of one rank stay with MPI";
  each_rank([&](std::int64_t, std::int64_t) {
    trace_.loop(3, [&] {
      call("MPI_Iallreduce bbnTocQ", {0, 0, 5, real_, sum_, 0, 0});
      call("MPI_Wait q", {0});
    });
    call("MPI_Allreduce bbnToc", {0, 0, 5, real_, sum_, 1});
    call("MPI_Allreduce bbnToc", {0, 0, 5, real_, trace_.operation("user"), 0});
  });
  expect_right();
  const std::string n = std::to_string(ranks_);
  EXPECT_EQ(peer_skipped_, "all calls of collectives stay with MPI: " + std::to_string(3 * ranks_) +
                               " non-blocking or persistent, " + n + " of one rank, " + n +
                               " operations or types that it does not have");
}

TEST_F(Replay, StaysWithMpiWhereThereIsNoCollective) {
  each_rank([&](std::int64_t rank, std::int64_t n) {
    call("MPI_Sendrecv bnTrtbnTrtc", {0, 9, real_, (rank + 1) % n, 1, 0, 9, real_, (rank + n - 1) % n, 1, 0});
  });
  expect_right();
  EXPECT_EQ(peer_skipped_, "the program calls no collective: the replay is that with --transport mpi");
}

/// One rank's type has gaps, the others' have none: all of them must decide alike.
TEST_F(Replay, DecidesAlikeOnAllRanks) {
  if (ranks_ < 2) GTEST_SKIP() << "one rank is alone";
  each_rank([&](std::int64_t rank, std::int64_t) {
    call("MPI_Allgather bnTbnTc", {0, 2, rank == 1 ? row_ : trace_.type("", 24), 0, 6, real_, 0});
    call("MPI_Allgather bnTbnTc", {0, 7, real_, 0, 7, real_, 0});
    if (rank == 0) {
      call("MPI_Bcast bnTrc", {0, 3, real_, 0, 0});
      call("MPI_Bcast bnTrc", {0, 4, real_, 0, 0});
    } else {
      call("MPI_Bcast bnTrc", {0, 1, row_, 0, 0});
      call("MPI_Bcast bnTrc", {0, 4, real_, 0, 0});
    }
  });
  expect_right();
  EXPECT_EQ(share_of_calls_, 0.5);
}

/// The root of one call is in place, that of the next is not.
TEST_F(Replay, OfRootsInPlaceNowAndThen) {
  if (ranks_ < 2) GTEST_SKIP() << "the collectives of one rank stay with MPI";
  each_rank([&](std::int64_t rank, std::int64_t n) {
    const auto counts = array_of(n, [](std::int64_t i) { return 3 * i; });  // the first rank has none
    for (const std::int64_t root : {std::int64_t{0}, n - 1}) {
      const bool is_root = rank == root;
      for (const std::int64_t in_place : {1, 0, 1}) {
        const std::int64_t here = is_root ? in_place : 0;
        call("MPI_Gather bnTbnTrc", {here, 5, real_, 0, 5, real_, root, 0});
        call("MPI_Gatherv bnTbaaTrc", {here, 3 * rank, real_, 0, counts, counts, real_, root, 0});
        call("MPI_Scatter bnTbnTrc", {0, 5, real_, here, 5, real_, root, 0});
        call("MPI_Scatterv baaTbnTrc", {0, counts, counts, real_, here, 3 * rank, real_, root, 0});
        call("MPI_Reduce bbnTorc", {here, 0, 5, integer_, sum_, root, 0});
        call("MPI_Allreduce bbnToc", {in_place, 0, 50000, real_, sum_, 0});
        call("MPI_Allgather bnTbnTc", {in_place, 7, real_, 0, 7, real_, 0});
        call("MPI_Allgatherv bnTbaaTc", {in_place, 3 * rank, real_, 0, counts, counts, real_, 0});
        call("MPI_Alltoall bnTbnTc", {in_place, 3, real_, 0, 3, real_, 0});
        const auto same = array_of(n, [](std::int64_t) { return 4; });
        call("MPI_Alltoallv baaTbaaTc", {in_place, same, same, real_, 0, same, same, real_, 0});
        call("MPI_Reduce_scatter_block bbnToc", {in_place, 0, 4, real_, sum_, 0});
        call("MPI_Reduce_scatter bbaToc", {in_place, 0, same, real_, sum_, 0});
        call("MPI_Scan bbnToc", {in_place, 0, 5, real_, sum_, 0});
        call("MPI_Exscan bbnToc", {in_place, 0, 5, real_, sum_, 0});
        call("MPI_Bcast bnTrc", {0, 0, real_, root, 0});
        call("MPI_Barrier c", {0});
      }
    }
  });
  expect_right();
  EXPECT_EQ(unchecked_, 0);
  EXPECT_EQ(share_of_calls_, 1);
  // MPI has none of them, in no form.
  EXPECT_EQ(replayed("", "peer").record.value("calls", Json::object()), Json::object());
}

/// As the profiler records it: what is significant at the root alone is nothing on the other ranks. The blocks are
/// longer than the room that a replay has beside its buffers.
TEST_F(Replay, OfRootsThatAloneHaveAllBlocks) {
  if (ranks_ < 2) GTEST_SKIP() << "the collectives of one rank stay with MPI";
  constexpr std::int64_t count = 50000;
  each_rank([&](std::int64_t rank, std::int64_t n) {
    const auto counts = array_of(n, [](std::int64_t i) { return count + i; });
    for (const std::int64_t root : {std::int64_t{0}, n - 1}) {
      for (const std::int64_t in_place : {1, 0}) {
        if (rank == root) {
          call("MPI_Gather bnTbnTrc", {in_place, count, real_, 0, count, real_, root, 0});
          call("MPI_Gatherv bnTbaaTrc", {in_place, count + rank, real_, 0, counts, counts, real_, root, 0});
          call("MPI_Scatter bnTbnTrc", {0, count, real_, in_place, count, real_, root, 0});
          call("MPI_Scatterv baaTbnTrc", {0, counts, counts, real_, in_place, count + rank, real_, root, 0});
        } else {
          call("MPI_Gather bnTbnTrc", {0, count, real_, 0, 0, -1, root, 0});
          call("MPI_Gatherv bnTbaaTrc", {0, count + rank, real_, 0, -1, -1, -1, root, 0});
          call("MPI_Scatter bnTbnTrc", {0, 0, -1, 0, count, real_, root, 0});
          call("MPI_Scatterv baaTbnTrc", {0, -1, -1, -1, 0, count + rank, real_, root, 0});
        }
        call("MPI_Reduce bbnTorc", {rank == root ? in_place : 0, 0, count, integer_, sum_, root, 0});
      }
    }
  });
  expect_right();
  EXPECT_EQ(unchecked_, 0);
  EXPECT_EQ(share_of_calls_, 1);
}

TEST_F(Replay, OfSubCommunicatorsInAnyOrder) {
  if (ranks_ < 3) GTEST_SKIP() << "no part of the ranks has two";
  each_rank([&](std::int64_t rank, std::int64_t n) {
    trace_.loop(3, [&] {
      call("MPI_Comm_idup cCQ", {0, 2, 0});
      call("MPI_Wait q", {0});
      call("MPI_Comm_split cknC", {2, rank == 0 ? 0 : 1, -rank, 3});  // in the reverse order
      call("MPI_Allreduce bbnToc", {0, 0, 9, real_, sum_, 2});
      call("MPI_Gather bnTbnTrc", {0, 5, real_, 0, 5, real_, 0, 3});
      call("MPI_Scan bbnToc", {0, 0, 5, real_, sum_, 3});
      call("MPI_Comm_free F", {2});
      call("MPI_Comm_free F", {3});
    });
    call("MPI_Comm_split cknC", {0, rank == n - 1 ? -1 : 0, 0, rank == n - 1 ? -1 : 2});
    if (rank < n - 1) call("MPI_Allgather bnTbnTc", {0, 5, real_, 0, 5, real_, 2});
    if (rank < n - 1) call("MPI_Comm_free F", {2});
  });
  expect_right();
  EXPECT_EQ(unchecked_, 0);
  const double calls = 9.0 * static_cast<double>(ranks_) + static_cast<double>(ranks_ - 1);
  EXPECT_EQ(share_of_calls_, (calls - 6) / calls);  // the first rank is alone
}

/// The first rank has its part in several steps of a collective, for which others wait before they come.
TEST_F(Replay, ProceedsWithMpiWhileItWaitsInATransport) {
  if (ranks_ < 2) GTEST_SKIP() << "nobody to wait for";
  each_rank([&](std::int64_t rank, std::int64_t) {
    trace_.loop(5, [&] {
      call("MPI_Iallreduce bbnTocQ", {0, 0, 70000, real_, sum_, 0, 0});
      if (rank > 0) call("MPI_Wait q", {0});
      call("MPI_Allreduce bbnToc", {0, 0, 5, real_, sum_, 0});
      if (rank == 0) call("MPI_Wait q", {0});
    });
  });
  expect_right();
  EXPECT_EQ(share_of_calls_, 0.5);
}

/// A long message needs its sender, which is in a collective of the transport, before its receiver comes there.
TEST_F(Replay, SendsByMpiWhileItWaitsInATransport) {
  if (ranks_ < 2) GTEST_SKIP() << "nobody to wait for";
  each_rank([&](std::int64_t rank, std::int64_t n) {
    trace_.loop(5, [&] {
      if (rank == 0) {
        for (std::int64_t to = 1; to < n; ++to) call("MPI_Isend bnTrtcQ", {0, 70000, real_, to, 1, 0, to - 1});
        call("MPI_Allreduce bbnToc", {0, 0, 5, real_, sum_, 0});
        for (std::int64_t to = 1; to < n; ++to) call("MPI_Wait q", {to - 1});
      } else {
        call("MPI_Recv bnTrtc", {0, 70000, real_, 0, 1, 0});
        call("MPI_Allreduce bbnToc", {0, 0, 5, real_, sum_, 0});
      }
    });
  });
  expect_right();
  EXPECT_EQ(share_of_calls_, 1);
}

/// A rank has begun to make a communicator when it enters a collective of another one, which the next enters before.
TEST_F(Replay, OfACommunicatorThatIsMadeBesideACollective) {
  if (ranks_ < 2) GTEST_SKIP() << "the collectives of one rank stay with MPI";
  each_rank([&](std::int64_t rank, std::int64_t n) {
    call("MPI_Comm_split cknC", {0, 0, n - rank, 2});
    if (rank == 0) call("MPI_Comm_idup cCQ", {0, 3, 0});
    call("MPI_Allreduce bbnToc", {0, 0, 9, real_, sum_, 2});
    if (rank > 0) call("MPI_Comm_idup cCQ", {0, 3, 0});
    call("MPI_Waitall ns", {1, array({0})});
    call("MPI_Allreduce bbnToc", {0, 0, 9, real_, sum_, 3});
  });
  expect_right();
  EXPECT_EQ(unchecked_, 0);
  EXPECT_EQ(share_of_calls_, 1);
}

}  // namespace
}  // namespace commlens::replay

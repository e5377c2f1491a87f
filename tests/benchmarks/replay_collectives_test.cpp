// Replays collectives, communicators and topologies of every kind, on 1 to 4 ranks.
#include <cstdint>

#include "replays.hpp"

namespace commlens::replay {
namespace {

TEST_F(Replay, OfCollectives) {
  each_rank([&](std::int64_t rank, std::int64_t n) {
    const auto counts = array_of(n, [](std::int64_t i) { return 2 * i + 1; });
    const auto places = array_of(n, [](std::int64_t i) { return 100 * i; });
    const std::int64_t mine = 2 * rank + 1;
    const std::int64_t root = n - 1;
    const bool is_root = rank == root;
    trace_.loop(3, [&] {
      call("MPI_Barrier c", {0});
      call("MPI_Bcast bnTrc", {0, 30, real_, root, 0});
      call("MPI_Gather bnTbnTrc", {0, 5, real_, 0, 5, is_root ? real_ : -1, root, 0});
      call("MPI_Gather bnTbnTrc", {is_root ? 1 : 0, 5, is_root ? -1 : real_, 0, is_root ? 5 : -77, real_, root, 0});
      call("MPI_Gatherv bnTbaaTrc", {0, mine, real_, 0, is_root ? counts : -1, is_root ? places : -1, real_, root, 0});
      call("MPI_Scatter bnTbnTrc", {0, 5, real_, 0, 5, real_, root, 0});
      call("MPI_Scatter bnTbnTrc", {0, 5, real_, is_root ? 1 : 0, 5, real_, root, 0});
      call("MPI_Scatterv baaTbnTrc", {0, is_root ? counts : -1, is_root ? places : -1, real_, 0, mine, real_, root, 0});
      call("MPI_Allgather bnTbnTc", {0, 7, real_, 0, 7, real_, 0});
      call("MPI_Allgather bnTbnTc", {1, 0, -1, 0, 7, real_, 0});
      call("MPI_Allgatherv bnTbaaTc", {0, mine, real_, 0, counts, places, real_, 0});
      call("MPI_Allgatherv bnTbaaTc", {1, 0, -1, 0, counts, places, real_, 0});
      call("MPI_Alltoall bnTbnTc", {0, 3, real_, 0, 3, real_, 0});
      call("MPI_Alltoall bnTbnTc", {1, 0, -1, 0, 3, real_, 0});
      const auto to = array_of(n, [&](std::int64_t i) { return rank + 2 * i; });
      const auto from = array_of(n, [&](std::int64_t i) { return i + 2 * rank; });
      call("MPI_Alltoallv baaTbaaTc", {0, to, places, real_, 0, from, places, real_, 0});
      const auto types = array_of(n, [&](std::int64_t i) { return i % 2 == 0 ? real_ : row_; });
      const auto my_types = array_of(n, [&](std::int64_t) { return rank % 2 == 0 ? real_ : row_; });
      call("MPI_Alltoallw baaybaayc", {0, to, places, types, 0, from, places, my_types, 0});
    });
  });
  expect_right();
  EXPECT_EQ(unchecked_, 0);
  if (ranks_ > 1) {
    EXPECT_EQ(share_of_calls_, 15.0 / 16);  // all but MPI_Alltoallw with its gaps
  }
}

/// The harness repeats short operations, to find out about collectives, with a rank that comes late.
TEST_F(Replay, CommunicatesNoLongerThanItTakes) {
  each_rank([&](std::int64_t, std::int64_t) {
    trace_.loop(1000, [&] { call("MPI_Allreduce bbnToc", {0, 0, 1, real_, sum_, 0}); });
  });
  EXPECT_LE(replayed().fact("communication_share"), 1);
}

TEST_F(Replay, OfReductions) {
  const auto pair = trace_.type("MPI_DOUBLE_INT", 12, 16);
  each_rank([&](std::int64_t rank, std::int64_t n) {
    const auto counts = array_of(n, [](std::int64_t i) { return 2 * i + 1; });
    for (const char* name : {"MPI_SUM", "MPI_PROD", "MPI_MAX", "MPI_MIN", "MPI_BAND", "MPI_BOR", "MPI_BXOR", "MPI_LAND",
                             "MPI_LOR", "MPI_LXOR"}) {
      const auto operation = trace_.operation(name);
      call("MPI_Allreduce bbnToc", {0, 0, 70, integer_, operation, 0});
      call("MPI_Exscan bbnToc", {0, 0, 70, integer_, operation, 0});
    }
    call("MPI_Reduce bbnTorc", {0, 0, 70, real_, sum_, 0, 0});
    call("MPI_Reduce bbnTorc", {rank == 0 ? 1 : 0, 0, 70, real_, sum_, 0, 0});
    call("MPI_Allreduce bbnToc", {1, 0, 70, real_, sum_, 0});
    call("MPI_Scan bbnToc", {0, 0, 5, real_, sum_, 0});
    call("MPI_Reduce_scatter bbaToc", {0, 0, counts, real_, sum_, 0});
    call("MPI_Reduce_scatter bbaToc", {1, 0, counts, real_, sum_, 0});
    call("MPI_Reduce_scatter_block bbnToc", {0, 0, 4, real_, sum_, 0});
    call("MPI_Reduce_scatter_block bbnToc", {1, 0, 4, real_, sum_, 0});
  });
  expect_right();
  EXPECT_EQ(unchecked_, 0);
  each_rank([&](std::int64_t, std::int64_t) {  // what cannot be checked is executed
    call("MPI_Allreduce bbnToc", {0, 0, 3, pair, trace_.operation("MPI_MINLOC"), 0});
    call("MPI_Allreduce bbnToc", {0, 0, 3, row_, trace_.operation("user"), 0});
    call("MPI_Allreduce bbnToc", {1, 0, 3, real_, trace_.operation("user"), 0});
  });
  expect_right();
  EXPECT_EQ(unchecked_, static_cast<double>(3 * ranks_));
}

TEST_F(Replay, OfCollectivesThatDoNotBlock) {
  each_rank([&](std::int64_t rank, std::int64_t n) {
    const auto counts = array_of(n, [](std::int64_t i) { return 2 * i + 1; });
    trace_.loop(3, [&] {
      call("MPI_Ibarrier cQ", {0, 0});
      call("MPI_Ibcast bnTrcQ", {0, 30, real_, 0, 0, 1});
      call("MPI_Iallreduce bbnTocQ", {0, 0, 30, real_, sum_, 0, 2});
      call("MPI_Iallgatherv bnTbaaTcQ", {0, 2 * rank + 1, real_, 0, counts, counts, real_, 0, 3});
      call("MPI_Ialltoall bnTbnTcQ", {0, 3, real_, 0, 3, real_, 0, 4});
      call("MPI_Igather bnTbnTrcQ", {0, 3, real_, 0, 3, real_, 0, 0, 5});
      call("MPI_Iscatter bnTbnTrcQ", {0, 3, real_, 0, 3, real_, 0, 0, 6});
      call("MPI_Iexscan bbnTocQ", {0, 0, 3, real_, sum_, 0, 7});
      call("MPI_Waitall ns", {8, array({7, 6, 5, 4, 3, 2, 1, 0})});
    });
  });
  expect_right();
  EXPECT_EQ(unchecked_, 0);
}

TEST_F(Replay, OfCommunicatorsThatAreMadeAndFreedInALoop) {
  each_rank([&](std::int64_t rank, std::int64_t n) {
    const auto everyone = array_of(n, [](std::int64_t i) { return i; });
    const auto reversed = array_of(n, [&](std::int64_t i) { return n - 1 - i; });
    const bool is_even = rank % 2 == 0;
    const auto half = array_of(is_even ? (n + 1) / 2 : n / 2, [&](std::int64_t i) { return 2 * i + rank % 2; });
    trace_.loop(3, [&] {
      call("MPI_Comm_dup cC", {0, 2});
      call("MPI_Comm_split cknC", {2, rank % 2, -rank, 3});
      call("MPI_Comm_split cknC", {0, is_even ? 0 : -1, 0, is_even ? 4 : -1});
      call("MPI_Allreduce bbnToc", {0, 0, 5, real_, sum_, 3});
      if (is_even) call("MPI_Bcast bnTrc", {0, 5, real_, 0, 4});
      call("MPI_Comm_free F", {2});
      call("MPI_Comm_create cgC", {0, reversed, 2});
      // Its ranks are the other way round.
      const std::int64_t here = n - 1 - rank;
      call("MPI_Sendrecv bnTrtbnTrtc", {0, 9, real_, (here + 1) % n, 1, 0, 9, real_, (here + n - 1) % n, 1, 2});
      call("MPI_Comm_create_group cgtC", {0, half, 5, 5});
      call("MPI_Allgather bnTbnTc", {0, 3, real_, 0, 3, real_, 5});
      call("MPI_Comm_idup cCQ", {2, 6, 0});
      call("MPI_Wait q", {0});
      call("MPI_Barrier c", {6});
      call("MPI_Comm_split_type cnnC", {0, 0, 0, 7});
      call("MPI_Allgather bnTbnTc", {0, 3, real_, 0, 3, real_, 7});
      for (const std::int64_t number : {7, 6, 5, 3, 2}) call("MPI_Comm_free F", {number});
      if (is_even) call("MPI_Comm_free F", {4});
      call("MPI_Comm_create cgC", {0, everyone, 2});
      call("MPI_Bcast bnTrc", {0, 5, real_, 0, 2});
      call("MPI_Comm_disconnect F", {2});
    });
    call("MPI_Comm_dup cC", {1, 2});  // is never freed
  });
  expect_right();
  EXPECT_EQ(unchecked_, 0);
}

TEST_F(Replay, OfTopologies) {
  each_rank([&](std::int64_t rank, std::int64_t n) {
    const std::int64_t next = (rank + 1) % n;
    const std::int64_t last = (rank + n - 1) % n;
    trace_.loop(2, [&] {
      call("MPI_Cart_create cnaanC", {0, 2, array({n, 1}), array({1, 0}), 0, 2});
      call("MPI_Cart_sub caC", {2, array({1, 0}), 3});
      call("MPI_Neighbor_allgather bnTbnTc", {0, 3, real_, 0, 3, real_, 3});
      call("MPI_Neighbor_alltoall bnTbnTc", {0, 3, real_, 0, 3, real_, 2});
      call("MPI_Dist_graph_create_adjacent cnananC", {0, 1, array({last}), 2, array({next, next}), 0, 4});
      call("MPI_Comm_free F", {4});
      call("MPI_Dist_graph_create_adjacent cnananC", {0, 1, array({last}), 1, array({next}), 0, 4});
      call("MPI_Neighbor_allgatherv bnTbaaTc", {0, 3, real_, 0, array({3}), array({50}), real_, 4});
      call("MPI_Neighbor_alltoallw baaybaayc",
           {0, array({3}), array({800}), array({row_}), 0, array({9}), array({80}), array({real_}), 4});
      call("MPI_Ineighbor_alltoallv baaTbaaTcQ",
           {0, array({3}), array({0}), real_, 0, array({3}), array({0}), real_, 4, 0});
      call("MPI_Wait q", {0});
      if (n < 3) {  // Open MPI 4.1 hangs in it now and then on more ranks, in any program
        call("MPI_Dist_graph_create cnaaanC", {0, 1, array({rank}), array({1}), array({next}), 0, 5});
        call("MPI_Neighbor_alltoall bnTbnTc", {0, 3, real_, 0, 3, real_, 5});
        call("MPI_Comm_free F", {5});
      }
      const auto index = array_of(n, [](std::int64_t i) { return i + 1; });
      const auto edges = array_of(n, [&](std::int64_t i) { return n - 1 - i; });
      call("MPI_Graph_create cnaanC", {0, n, index, edges, 0, 6});
      call("MPI_Neighbor_allgather bnTbnTc", {0, 3, real_, 0, 3, real_, 6});
      for (const std::int64_t number : {2, 3, 4, 6}) call("MPI_Comm_free F", {number});
    });
  });
  if (ranks_ == 1) GTEST_SKIP() << "a graph with edges to oneself";
  for (const char* transport : {"mpi", "staged"}) {
    const Outcome outcome = replayed("", transport);
    EXPECT_EQ(outcome.reason(), "");
    EXPECT_EQ(outcome.exit, Exit::ok);
  }
}

TEST_F(Replay, OfIntercommunicators) {
  if (ranks_ < 2) GTEST_SKIP() << "two groups are two ranks";
  each_rank([&](std::int64_t rank, std::int64_t n) {
    const bool is_first = rank < n / 2;
    const std::int64_t mine = is_first ? rank : rank - n / 2;
    trace_.loop(2, [&] {
      call("MPI_Comm_split cknC", {0, is_first ? 0 : 1, 0, 2});
      call("MPI_Intercomm_create crcrtC", {2, 0, mine == 0 ? 0 : -1, is_first ? n / 2 : 0, 9, 3});
      if (mine == 0) {
        call("MPI_Sendrecv bnTrtbnTrtc", {0, 9, real_, 0, 1, 0, 9, real_, 0, 1, 3});
        call("MPI_Isend bnTrtcQ", {0, 9, real_, 0, 1, 3, 0});
        call("MPI_Recv bnTrtc", {0, 9, real_, 0, 1, 3});
        call("MPI_Wait q", {0});
      }
      call("MPI_Barrier c", {3});
      call("MPI_Allgather bnTbnTc", {0, 3, real_, 0, 3, real_, 3});
      const std::int64_t root = !is_first ? 0 : mine == 0 ? -3 : -1;
      call("MPI_Bcast bnTrc", {0, 3, real_, root, 3});
      call("MPI_Comm_dup cC", {3, 4});
      call("MPI_Intercomm_merge cnC", {4, is_first ? 0 : 1, 5});
      call("MPI_Allreduce bbnToc", {0, 0, 5, real_, sum_, 5});
      for (std::int64_t number = 2; number <= 5; ++number) call("MPI_Comm_free F", {number});
    });
  });
  expect_right();
  EXPECT_EQ(unchecked_, static_cast<double>(4 * ranks_));  // collectives between the two groups
}

}  // namespace
}  // namespace commlens::replay

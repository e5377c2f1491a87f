// Replays with other lengths of messages: what matched still matches.
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "replays.hpp"

namespace commlens::replay {
namespace {

TEST_F(Replay, ScalesMessages) {
  each_rank([&](std::int64_t rank, std::int64_t n) {
    const std::int64_t next = (rank + 1) % n;
    const std::int64_t last = (rank + n - 1) % n;
    call("MPI_Sendrecv bnTrtbnTrtc", {0, 10, real_, next, 1, 0, 10, real_, last, 1, 0});
    call("MPI_Sendrecv bnTrtbnTrtc", {0, 0, real_, next, 1, 0, 0, real_, last, 1, 0});
    call("MPI_Sendrecv bnTrtbnTrtc", {0, 1, byte_, next, 1, 0, 17, byte_, last, 1, 0});
  });
  expect_right(" --scale-bytes 0.3");
  EXPECT_EQ(bytes_, static_cast<double>(ranks_ * (8 * 3 + 1)));
  expect_right(" --scale-bytes 2.5");
  EXPECT_EQ(bytes_, static_cast<double>(ranks_ * (8 * 25 + 3)));
  expect_right(" --scale-bytes 1");
  EXPECT_EQ(bytes_, static_cast<double>(ranks_ * 81));
}

/// A rank sends rows and another one receives numbers, in a longer buffer or in one that is just as long.
TEST_F(Replay, ScalesBothSidesOfAMessageAlike) {
  each_rank([&](std::int64_t rank, std::int64_t n) {
    const std::int64_t next = (rank + 1) % n;
    const std::int64_t last = (rank + n - 1) % n;
    for (std::int64_t rows = 0; rows < 8; ++rows) {
      call("MPI_Sendrecv bnTrtbnTrtc", {0, rows, row_, next, 1, 0, 3 * rows, real_, last, 1, 0});
      call("MPI_Sendrecv bnTrtbnTrtc", {0, 3 * rows, real_, next, 1, 0, rows, row_, last, 1, 0});
      call("MPI_Sendrecv bnTrtbnTrtc", {0, rows, row_, next, 1, 0, 6 * rows + 1, integer_, last, 1, 0});
      call("MPI_Allgather bnTbnTc", {0, rows, row_, 0, 3 * rows, real_, 0});
      call("MPI_Alltoall bnTbnTc", {0, 3 * rows, real_, 0, rows, row_, 0});
      rank == 0 ? call("MPI_Bcast bnTrc", {0, 3 * rows, real_, 0, 0}) : call("MPI_Bcast bnTrc", {0, rows, row_, 0, 0});
    }
    call("MPI_Isend bnTrtcQ", {0, 3, row_, next, 2, 0, 0});
    call("MPI_Mprobe rtcM", {last, 2, 0, 0});
    call("MPI_Mrecv bnTm", {0, 9, real_, 0});
    call("MPI_Wait q", {0});
    call("MPI_Sendrecv_replace bnTrtrtc", {0, 5, real_, next, 3, last, 3, 0});
    call("MPI_Buffer_attach bn", {0, 2000});
    call("MPI_Bsend bnTrtc", {0, 30, real_, next, 1, 0});
    call("MPI_Recv bnTrtc", {0, 30, real_, last, 1, 0});
  });
  for (const char* factor : {"0.01", "0.3", "0.5", "1.4", "2.5", "7"}) {
    expect_right(std::string(" --scale-bytes ") + factor);
    EXPECT_EQ(unchecked_, 0) << factor;
  }
}

/// Into room that no machine has: it is as long as the longest message.
TEST_F(Replay, ScalesRoomAsFarAsMessagesNeedIt) {
  constexpr std::int64_t room = 2147483647;
  each_rank([&](std::int64_t rank, std::int64_t n) {
    call("MPI_Irecv bnTrtcQ", {0, room, row_, (rank + n - 1) % n, 1, 0, 0});
    call("MPI_Send bnTrtc", {0, 7, real_, (rank + 1) % n, 1, 0});
    call("MPI_Wait q", {0});
  });
  expect_right(" --scale-bytes 4");
  EXPECT_EQ(bytes_, static_cast<double>(ranks_ * 4 * 56));
  EXPECT_EQ(unchecked_, 0);
}

TEST_F(Replay, ScalesCollectives) {
  each_rank([&](std::int64_t rank, std::int64_t n) {
    const auto counts = array_of(n, [](std::int64_t i) { return 5 * i; });
    const std::int64_t mine = 5 * rank;
    call("MPI_Allreduce bbnToc", {0, 0, 7, real_, sum_, 0});
    call("MPI_Reduce_scatter bbaToc", {0, 0, counts, real_, sum_, 0});
    call("MPI_Gatherv bnTbaaTrc", {0, mine, real_, 0, rank == 0 ? counts : -1, rank == 0 ? counts : -1, real_, 0, 0});
    call("MPI_Scatterv baaTbnTrc", {0, rank == 0 ? counts : -1, rank == 0 ? counts : -1, real_, 0, mine, real_, 0, 0});
    call("MPI_Allgatherv bnTbaaTc", {1, 0, -1, 0, counts, counts, real_, 0});
    call("MPI_Gather bnTbnTrc", {0, 5, real_, 0, rank == 0 ? 5 : 2147483647, rank == 0 ? real_ : -1, 0, 0});
    const auto to = array_of(n, [&](std::int64_t i) { return rank + 2 * i; });
    const auto from = array_of(n, [&](std::int64_t i) { return i + 2 * rank; });
    call("MPI_Alltoallv baaTbaaTc", {0, to, to, real_, 0, from, from, real_, 0});
    const auto types = array_of(n, [&](std::int64_t i) { return i % 2 == 0 ? real_ : row_; });
    const auto my_types = array_of(n, [&](std::int64_t) { return rank % 2 == 0 ? real_ : row_; });
    call("MPI_Alltoallw baaybaayc", {0, to, to, types, 0, from, from, my_types, 0});
    call("MPI_Ibcast bnTrcQ", {0, 9, real_, n - 1, 0, 0});
    call("MPI_Wait q", {0});
  });
  expect_right();
  const double whole = bytes_;
  expect_right(" --scale-bytes 0.3");
  EXPECT_LT(bytes_, whole);
  expect_right(" --scale-bytes 2.5");
  EXPECT_GT(bytes_, 2 * whole);
  EXPECT_EQ(unchecked_, 0);
  if (ranks_ > 1) {
    EXPECT_EQ(peer_skipped_, "");
  }
}

TEST_F(Replay, SaysThatItIsScaled) {
  each_rank([&](std::int64_t, std::int64_t) { call("MPI_Bcast bnTrc", {0, 1000000, real_, 0, 0}); });
  const Outcome outcome = replayed(" --scale-bytes 0.3");
  EXPECT_EQ(outcome.record.at("parameters").at("scale_bytes"), 0.3);
  EXPECT_EQ(outcome.fact("bytes_scale"), 0.3);
  EXPECT_FALSE(replayed().record.at("parameters").contains("scale_bytes"));
  EXPECT_NE(problem_of<UsageError>([&] {
              replayed(" --scale-bytes 3000");
            }).find("--scale-bytes 3000: MPI_Bcast would have 3000000000 elements, more than it takes; give less"),
            std::string::npos);
}

}  // namespace
}  // namespace commlens::replay

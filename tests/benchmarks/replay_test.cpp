// Replays messages and requests of every kind, on 1 to 4 ranks. What is received is validated, so that a call with
// wrong arguments, to the wrong rank or in the wrong order is found.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "replays.hpp"

namespace commlens::replay {
namespace {

TEST_F(Replay, OfALoopWithSlotsThatAreUsedAgain) {
  each_rank([&](std::int64_t rank, std::int64_t ranks) {
    const std::int64_t next = (rank + 1) % ranks;
    const std::int64_t last = (rank + ranks - 1) % ranks;
    trace_.loop(20, [&] {
      call("MPI_Irecv bnTrtcQ", {0, 1000, real_, last, 3, 0, 0});
      call("MPI_Irecv bnTrtcQ", {0, 10, integer_, last, 3, 0, 1});
      call("MPI_Isend bnTrtcQ", {0, 1000, real_, next, 3, 0, 2});
      call("MPI_Issend bnTrtcQ", {0, 4, integer_, next, 3, 0, 3});  // less than is awaited
      trace_.loop(2, [&] {
        call("MPI_Irecv bnTrtcQ", {0, 0, real_, last, 4, 0, 4});
        call("MPI_Send bnTrtc", {0, 0, real_, next, 4, 0});
        call("MPI_Wait q", {4});
      });
      call("MPI_Waitall ns", {5, array({0, 1, 2, -1, 3})});
      call("MPI_Wait q", {-1});
    });
  });
  expect_right();
  EXPECT_EQ(report_, "");
  EXPECT_EQ(unchecked_, 0);
  EXPECT_EQ(calls_, static_cast<double>(ranks_ * 20 * 12));
  EXPECT_EQ(bytes_, static_cast<double>(ranks_ * 20 * 8016));
}

TEST_F(Replay, OfPersistentRequests) {
  each_rank([&](std::int64_t rank, std::int64_t ranks) {
    call("MPI_Recv_init bnTrtcQ", {0, 50, real_, (rank + ranks - 1) % ranks, 3, 0, 0});
    call("MPI_Send_init bnTrtcQ", {0, 50, real_, (rank + 1) % ranks, 3, 0, 1});
    trace_.loop(5, [&] {
      call("MPI_Startall ns", {2, array({0, 1})});
      call("MPI_Waitall ns", {2, array({0, 1})});
      call("MPI_Start q", {0});
      call("MPI_Start q", {1});
      call("MPI_Test qf", {0, 0}, 3);
      call("MPI_Wait q", {0});
      call("MPI_Test qf", {1, 1});
    });
    call("MPI_Request_free q", {0});
    call("MPI_Request_free q", {1});
  });
  expect_right();
  EXPECT_EQ(report_, "");
  EXPECT_EQ(calls_, static_cast<double>(ranks_ * (4 + 5 * 9)));
  EXPECT_EQ(bytes_, static_cast<double>(ranks_ * 10 * 400));
}

TEST_F(Replay, OfRequestsThatCompleteAsRecorded) {
  each_rank([&](std::int64_t rank, std::int64_t ranks) {
    trace_.loop(10, [&] {
      for (std::int64_t slot = 0; slot < 4; ++slot) {
        call("MPI_Irecv bnTrtcQ", {0, 9, byte_, (rank + ranks - 1) % ranks, slot, 0, slot});
      }
      for (std::int64_t tag = 3; tag >= 0; --tag) {
        call("MPI_Isend bnTrtcQ", {0, 9, byte_, (rank + 1) % ranks, tag, 0, 4 + tag});
      }
      call("MPI_Testany nsi", {4, array({0, 1, 2, 3}), -1}, 2);
      call("MPI_Waitany nsi", {4, array({0, 1, 2, 3}), 2});
      call("MPI_Waitsome nsI", {4, array({0, 1, -1, 3}), array({0, 3})});
      call("MPI_Testsome nsI", {4, array({-1, 1, -1, -1}), array({})}, 3);
      call("MPI_Testsome nsI", {4, array({-1, 1, -1, -1}), array({1})});
      call("MPI_Testany nsi", {4, array({4, 5, 6, 7}), 1});
      call("MPI_Testall nsf", {4, array({4, -1, 6, 7}), 0}, 2);
      call("MPI_Testall nsf", {4, array({4, -1, 6, 7}), 1});
      call("MPI_Waitany nsi", {2, array({-1, -1}), -1});
    });
  });
  expect_right();
  EXPECT_EQ(report_, "");
  EXPECT_EQ(calls_, static_cast<double>(ranks_ * 10 * (8 + 13)));
}

TEST_F(Replay, OfTestsSpreadsTheirNumber) {
  each_rank([&](std::int64_t, std::int64_t) {
    trace_.loop(10, [&] { call("MPI_Iprobe rtcf", {0, 5, 1, 0}); });
    trace_.loop(10, [&] { call("MPI_Iprobe rtcf", {0, 6, 1, 0}, 2, 7); });
    trace_.loop(7, [&] { call("MPI_Improbe rtcMf", {0, 5, 1, -1, 0}, 3); });
    call("MPI_Iprobe rtcf", {0, 5, 1, 0}, 12);
  });
  expect_right();
  EXPECT_EQ(report_, "");
  EXPECT_EQ(calls_, static_cast<double>(ranks_ * (10 + 27 + 21 + 12)));
}

TEST_F(Replay, OfMessagesInEveryMode) {
  each_rank([&](std::int64_t rank, std::int64_t ranks) {
    const std::int64_t next = (rank + 1) % ranks;
    const std::int64_t last = (rank + ranks - 1) % ranks;
    call("MPI_Buffer_attach bn", {0, 100000});
    trace_.loop(5, [&] {
      call("MPI_Bsend bnTrtc", {0, 100, integer_, next, 1, 0});
      call("MPI_Recv bnTrtc", {0, 100, integer_, last, 1, 0});
      call("MPI_Irecv bnTrtcQ", {0, 7, real_, last, 1, 0, 0});
      call("MPI_Barrier c", {0});
      call("MPI_Rsend bnTrtc", {0, 7, real_, next, 1, 0});
      call("MPI_Wait q", {0});
      call("MPI_Sendrecv bnTrtbnTrtc", {0, 100, real_, next, 10 + rank, 0, 100, real_, last, 10 + last, 0});
      call("MPI_Sendrecv_replace bnTrtrtc", {0, 100, real_, next, 10 + rank, last, 10 + last, 0});
      call("MPI_Sendrecv bnTrtbnTrtc", {0, 10, real_, -1, 1, 0, 10, real_, -1, 1, 0});  // MPI_PROC_NULL
      call("MPI_Isend bnTrtcQ", {0, 3, real_, next, 1, 0, 0});
      call("MPI_Recv bnTrtc", {0, 3, real_, -2, -1, 0});  // the wildcard is left
      call("MPI_Wait q", {0});
    });
  });
  expect_right();
  EXPECT_EQ(report_, "");
  EXPECT_EQ(unchecked_, 0);
}

TEST_F(Replay, OfWildcardsThatTheTraceHasLeft) {
  each_rank([&](std::int64_t rank, std::int64_t ranks) {
    const std::int64_t next = (rank + 1) % ranks;
    const std::int64_t last = (rank + ranks - 1) % ranks;
    trace_.loop(5, [&] {
      call("MPI_Irecv bnTrtcQ", {0, 5, real_, -2, 1, 0, 0});
      call("MPI_Irecv bnTrtcQ", {0, 5, real_, last, 1, 0, 1});
      call("MPI_Irecv bnTrtcQ", {0, 5, real_, last, 2, 0, 2});
      call("MPI_Send bnTrtc", {0, 5, real_, next, 1, 0});
      call("MPI_Send bnTrtc", {0, 4, real_, next, 1, 0});
      call("MPI_Send bnTrtc", {0, 3, real_, next, 2, 0});
      call("MPI_Wait q", {1});  // the message before it may be another rank's
      call("MPI_Wait q", {0});
      call("MPI_Wait q", {2});
      call("MPI_Send bnTrtc", {0, 3, real_, next, 3, 0});
      call("MPI_Mprobe rtcM", {-2, -1, 0, 0});
      call("MPI_Mrecv bnTm", {0, 3, real_, 0});
    });
  });
  expect_right();
  EXPECT_EQ(unchecked_, static_cast<double>(ranks_ * 5));
}

TEST_F(Replay, OfTypesWithGaps) {
  each_rank([&](std::int64_t rank, std::int64_t ranks) {
    const std::int64_t next = (rank + 1) % ranks;
    const std::int64_t last = (rank + ranks - 1) % ranks;
    call("MPI_Sendrecv bnTrtbnTrtc", {0, 5, row_, next, 1, 0, 15, real_, last, 1, 0});
    call("MPI_Sendrecv bnTrtbnTrtc", {0, 15, real_, next, 1, 0, 5, row_, last, 1, 0});
    call("MPI_Allgather bnTbnTc", {0, 2, row_, 0, 6, real_, 0});
    call("MPI_Allgather bnTbnTc", {0, 6, real_, 0, 2, row_, 0});
    call("MPI_Alltoall bnTbnTc", {0, 6, real_, 0, 2, row_, 0});
  });
  expect_right();
  EXPECT_EQ(report_, "");
  EXPECT_EQ(unchecked_, 0);
}

/// A rank has the numbers in pieces, another one has them in a row; the last piece may be shorter.
TEST_F(Replay, OfTypesInPieces) {
  const auto pieces = trace_.type("", 24, 800, 3);
  const auto uneven = trace_.type("", 25, 100, 4);
  const auto many = trace_.type("", 8, 4096, 4096);
  const auto close = trace_.type("", 24, 8, 3);  // elements that are in each other
  each_rank([&](std::int64_t rank, std::int64_t ranks) {
    const std::int64_t next = (rank + 1) % ranks;
    const std::int64_t last = (rank + ranks - 1) % ranks;
    call("MPI_Sendrecv bnTrtbnTrtc", {0, 5, pieces, next, 1, 0, 15, real_, last, 1, 0});
    call("MPI_Sendrecv bnTrtbnTrtc", {0, 15, real_, next, 1, 0, 6, pieces, last, 1, 0});
    call("MPI_Sendrecv bnTrtbnTrtc", {0, 3, uneven, next, 1, 0, 75, byte_, last, 1, 0});
    call("MPI_Sendrecv bnTrtbnTrtc", {0, 75, byte_, next, 1, 0, 3, uneven, last, 1, 0});
    call("MPI_Sendrecv bnTrtbnTrtc", {0, 5, many, next, 1, 0, 5, real_, last, 1, 0});
    call("MPI_Sendrecv bnTrtbnTrtc", {0, 2, close, next, 1, 0, 6, real_, last, 1, 0});
    call("MPI_Allgather bnTbnTc", {0, 6, real_, 0, 2, pieces, 0});
    call("MPI_Alltoall bnTbnTc", {0, 2, pieces, 0, 6, real_, 0});
  });
  expect_right(" --pack");
  EXPECT_EQ(unchecked_, 0);
  EXPECT_EQ(replayed(" --pack").record.at("parameters").at("pack"), true);
  expect_right();
}

TEST_F(Replay, OfProbes) {
  each_rank([&](std::int64_t rank, std::int64_t ranks) {
    const std::int64_t next = (rank + 1) % ranks;
    const std::int64_t last = (rank + ranks - 1) % ranks;
    trace_.loop(4, [&] {
      for (std::int64_t slot = 0; slot < 4; ++slot) call("MPI_Isend bnTrtcQ", {0, 10 + slot, real_, next, 8, 0, slot});
      call("MPI_Probe rtc", {last, 8, 0});
      call("MPI_Recv bnTrtc", {0, 20, real_, last, 8, 0});
      call("MPI_Iprobe rtcf", {last, 8, 0, 1});
      call("MPI_Mprobe rtcM", {last, 8, 0, 0});
      call("MPI_Improbe rtcMf", {last, 8, 0, -1, 0}, 5);
      call("MPI_Improbe rtcMf", {last, 8, 0, 1, 1});
      call("MPI_Recv bnTrtc", {0, 20, real_, last, 8, 0});  // the fourth
      call("MPI_Imrecv bnTmQ", {0, 20, real_, 1, 4});
      call("MPI_Mrecv bnTm", {0, 20, real_, 0});
      call("MPI_Waitall ns", {5, array({0, 1, 2, 3, 4})});
    });
  });
  expect_right();
  EXPECT_EQ(report_, "");
  EXPECT_EQ(unchecked_, 0);
}

TEST_F(Replay, OfRequestsThatAreFreedOrCancelled) {
  each_rank([&](std::int64_t rank, std::int64_t n) {
    trace_.loop(3, [&] {
      call("MPI_Isend bnTrtcQ", {0, 9, real_, (rank + 1) % n, 1, 0, 0});
      call("MPI_Request_free q", {0});
      call("MPI_Recv bnTrtc", {0, 9, real_, (rank + n - 1) % n, 1, 0});
      call("MPI_Irecv bnTrtcQ", {0, 9, real_, rank, 99, 0, 0});
      call("MPI_Cancel q", {0});
      call("MPI_Wait q", {0});
    });
  });
  expect_right();
  EXPECT_NE(report_.find("waiting is not known"), std::string::npos) << report_;
}

/// The second message is received first, and the first is too long for MPI to keep: a replay that waited for it before
/// the second is sent would wait forever.
TEST_F(Replay, OfASendThatIsFreedAndReceivedLate) {
  constexpr std::int64_t length = 200000;
  each_rank([&](std::int64_t rank, std::int64_t n) {
    call("MPI_Isend bnTrtcQ", {0, length, real_, (rank + 1) % n, 1, 0, 0});
    call("MPI_Request_free q", {0});
    call("MPI_Isend bnTrtcQ", {0, length, real_, (rank + 1) % n, 2, 0, 0});
    call("MPI_Recv bnTrtc", {0, length, real_, (rank + n - 1) % n, 2, 0});
    call("MPI_Wait q", {0});
    call("MPI_Recv bnTrtc", {0, length, real_, (rank + n - 1) % n, 1, 0});
  });
  for (const std::string transport : {"mpi", "staged"}) {
    expect_right_over(transport);
    EXPECT_EQ(unchecked_, static_cast<double>(ranks_));
  }
}

/// A freed send that is complete when its place is used again is validated.
TEST_F(Replay, OfASendThatIsFreedAndReceivedSoon) {
  each_rank([&](std::int64_t rank, std::int64_t n) {
    trace_.loop(3, [&] {
      call("MPI_Isend bnTrtcQ", {0, 9, real_, (rank + 1) % n, 1, 0, 0});
      call("MPI_Request_free q", {0});
      call("MPI_Recv bnTrtc", {0, 9, real_, (rank + n - 1) % n, 1, 0});
    });
  });
  expect_right();
  EXPECT_EQ(unchecked_, 0);
}

/// Numbers of communicators are a rank's own: those that differ are apart, and one is a series of all its ranks.
TEST_F(Replay, TellsCommunicatorsApart) {
  if (ranks_ < 3) GTEST_SKIP() << "all communicators have the same ranks";
  each_rank([&](std::int64_t rank, std::int64_t n) {
    const std::int64_t first = rank == 0 ? 2 : -1;  // of the first rank alone, as number 2
    call("MPI_Comm_split cknC", {0, rank == 0 ? 0 : -1, 0, first});
    const std::int64_t all = rank == 0 ? 3 : 2;
    call("MPI_Comm_dup cC", {0, all});
    call("MPI_Comm_split cknC", {all, rank == n - 1 ? -1 : 0, 0, rank == n - 1 ? -1 : all + 1});
    call("MPI_Barrier c", {all});
    if (rank == 0) call("MPI_Barrier c", {first});
    if (rank < n - 1) call("MPI_Barrier c", {all + 1});
  });
  const Outcome outcome = replayed();
  const auto ranks_in = [&](const std::string& name) {
    std::size_t count = 0;
    for (const Json& seconds : outcome.record.at("series").at(name)) count += seconds.get<double>() > 0 ? 1U : 0U;
    return count;
  };
  const auto ranks = static_cast<std::size_t>(ranks_);
  EXPECT_EQ(ranks_in("MPI_COMM_WORLD_s"), ranks);
  EXPECT_EQ(ranks_in("communicator_2_of_1_ranks_s"), 1U);
  EXPECT_EQ(ranks_in(fmt::format("communicator_3_of_{}_ranks_s", ranks)), ranks);
  EXPECT_EQ(ranks_in(fmt::format("communicator_4_of_{}_ranks_s", ranks - 1)), ranks - 1);
}

}  // namespace
}  // namespace commlens::replay

// The critical path of logs with known answers, the clock that ranks have in common, and what a picture shows of them.
#include "benchmarks/replay/critical_path.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "benchmarks/replay/common_clock.hpp"
#include "benchmarks/replay/matching.hpp"
#include "benchmarks/replay/rank_shares.hpp"
#include "benchmarks/replay/wait_states.hpp"
#include "rank_logs.hpp"

namespace commlens::replay {
namespace {

CriticalPath path_of(const std::vector<RankLog>& logs) { return critical_path(logs, Matching(logs)); }

void expect_ms(const std::vector<RankLog>& logs, double ms) { EXPECT_NEAR(path_of(logs).seconds, ms / 1000, exact); }

TEST(CriticalPath, GoesFromTheSenderToTheReceiver) {
  RankLogs logs(2);
  logs.message(Action::receive, 0, 1, logs.call(0, 5, 12));
  logs.message(Action::send, 1, 0, logs.call(1, 10, 11));
  logs.end(0, 14);
  logs.end(1, 11.5);
  const CriticalPath path = path_of(logs.all());
  EXPECT_NEAR(path.seconds, 0.012, exact) << "10 until the send, 2 after the receive";
  ASSERT_EQ(path.pieces.size(), 2U);
  EXPECT_EQ(path.pieces[0].rank, 1);
  EXPECT_NEAR(path.pieces[0].begin_s, 0, exact);
  EXPECT_NEAR(path.pieces[0].end_s, 0.010, exact);
  EXPECT_EQ(path.pieces[1].rank, 0);
  EXPECT_NEAR(path.pieces[1].begin_s, 0.012, exact);
  EXPECT_NEAR(path.pieces[1].end_s, 0.014, exact);
}

TEST(CriticalPath, OfRanksThatAreAlikeSavesCommunicationAlone) {
  SimulatedRanks ranks(4, 1);
  for (int step = 0; step < 10; ++step) {
    for (std::size_t rank = 0; rank < 4; ++rank) ranks.compute(rank, 3);
    ranks.barrier();
  }
  EXPECT_NEAR(ranks.end_ms(), 40, exact);
  expect_ms(ranks.logs(), 30);
}

TEST(CriticalPath, OfARingIsThatOfItsSlowRank) {
  SimulatedRanks ranks(4, 1);
  for (int step = 0; step < 10; ++step) {
    for (std::size_t rank = 0; rank < 4; ++rank) ranks.compute(rank, rank == 2 ? 5 : 3);
    for (std::size_t rank = 0; rank < 4; ++rank) ranks.message(rank, (rank + 1) % 4);
  }
  const CriticalPath path = path_of(ranks.logs());
  EXPECT_NEAR(path.seconds, 0.050, exact);
  for (const PathPiece& piece : path.pieces) {
    if (piece.end_s > piece.begin_s) {
      EXPECT_EQ(piece.rank, 2);
    }
  }
}

/// Each rank works on a block once the one before it is done with it: computation that nothing can hide.
TEST(CriticalPath, OfAPipelineHasTheTimeToFillIt) {
  constexpr std::size_t count = 3;
  SimulatedRanks ranks(count, 1);
  for (int block = 0; block < 5; ++block) {
    for (std::size_t rank = 0; rank < count; ++rank) {
      if (rank > 0) ranks.message(rank - 1, rank);
      ranks.compute(rank, 2);
    }
  }
  expect_ms(ranks.logs(), 2 * (5 + count - 1));
}

TEST(CriticalPath, OfImbalanceThatAlternatesIsTheSumOfTheLongestSteps) {
  SimulatedRanks apart(2, 0);
  SimulatedRanks together(2, 0);
  for (int step = 0; step < 10; ++step) {
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const double ms = (step + static_cast<int>(rank)) % 2 == 0 ? 3 : 1;
      apart.compute(rank, ms);
      together.compute(rank, ms);
    }
    together.barrier();
  }
  EXPECT_NEAR(together.end_ms(), 30, exact) << "all of the waiting is forced";
  expect_ms(together.logs(), 30);
  expect_ms(apart.logs(), 20);
}

TEST(CriticalPath, AwaitsAReceiveOnlyFromASynchronousSend) {
  for (const auto& [action, expected_ms] : {std::pair(Action::send, 11.0), {Action::synchronous_send, 16.0}}) {
    RankLogs logs(2);
    logs.message(action, 0, 1, logs.call(0, 1, 8));
    logs.end(0, 18);
    logs.message(Action::receive, 1, 0, logs.call(1, 6, 8));
    expect_ms(logs.all(), expected_ms);
  }
}

TEST(CriticalPath, AwaitsAllRanksBeforeInAScan) {
  RankLogs logs(3);
  logs.message(Action::receive, 0, 2, logs.call(0, 0, 2));
  logs.message(Action::send, 2, 0, logs.call(2, 1, 2));
  const double enter_ms[]{7, 1, 2};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    logs.collective(Action::scan, rank, logs.call(rank, enter_ms[rank], 8));
  }
  logs.end(2, 9);
  const CriticalPath path = path_of(logs.all());
  EXPECT_NEAR(path.seconds, 0.007, exact) << "1 on rank 2, 5 on rank 0, 1 on rank 2";
  EXPECT_EQ(path.pieces.size(), 3U);
}

TEST(CriticalPath, HasTheTimeBeforeARankBegins) {
  RankLogs logs(2);
  logs.call(0, 2, 3);
  auto late = logs.all();
  late[1].start_s = 0.004;
  late[1].end_s = 0.006;
  expect_ms(late, 6);
}

TEST(CriticalPath, EndsWhereLogsContradictThemselves) {
  RankLogs logs(2);
  for (const std::size_t rank : {0, 1}) {
    const auto receive = logs.call(rank, 1, 2);
    const auto send = logs.call(rank, 3, 4);
    logs.message(Action::receive, rank, 1 - rank, receive);
    logs.message(Action::send, rank, 1 - rank, send);
  }
  expect_ms(logs.all(), 3);  // 1 before the calls, 1 between them on each rank
  EXPECT_EQ(path_of(RankLogs(3).all()).seconds, 0);
}

/// Random programs: never longer than the run, and never shorter than what a rank computes.
TEST(CriticalPath, NeverSavesMoreThanTheCommunicationOfTheSlowestRank) {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same programs each time
  const auto choose = [&](std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(random); };
  for (int program = 0; program < 200; ++program) {
    const std::size_t count = 1 + choose(5);
    const double transfer_ms = program % 2;
    SimulatedRanks ranks(count, transfer_ms);
    for (int step = 0; step < 20; ++step) {
      for (std::size_t rank = 0; rank < count; ++rank) ranks.compute(rank, static_cast<double>(choose(9)));
      if (choose(3) == 0) ranks.barrier();
      if (count > 1) {
        const std::size_t from = choose(count - 1);
        ranks.message(from, (from + 1 + choose(count - 2)) % count);
      }
    }
    const CriticalPath path = path_of(ranks.logs());
    EXPECT_LE(path.seconds, ranks.end_ms() / 1000 + exact);
    EXPECT_GE(path.seconds, ranks.most_computed_ms() / 1000 - exact);
    if (transfer_ms == 0) {
      EXPECT_NEAR(path.seconds, ranks.end_ms() / 1000, exact) << "it is free already";
    }
    double on_path_s = 0;
    for (const PathPiece& piece : path.pieces) on_path_s += piece.end_s - piece.begin_s;
    EXPECT_GE(on_path_s, path.seconds - exact);
  }
}

TEST(CommonClock, TakesTheShortestRoundTrip) {
  const ClockOffset offset = offset_of(
      std::vector<RoundTrip>{{.sent_s = 1, .answered_s = 101.9, .received_s = 2}, {3, 103.1, 3.2}, {4, 104.9, 5}});
  EXPECT_NEAR(offset.seconds, 100, exact);
  EXPECT_NEAR(offset.at_s, 3.1, exact);
}

TEST(CommonClock, DriftsBetweenTwoComparisons) {
  EXPECT_NEAR(common_time(15, {.at_s = 10, .seconds = 100}, {.at_s = 20, .seconds = 102}), 116, exact);
  EXPECT_NEAR(common_time(15, {.at_s = 10, .seconds = 100}, {.at_s = 10, .seconds = 100}), 115, exact);
}

TEST(RankShares, AreThoseOfEachInterval) {
  RankLogs logs(2);
  logs.message(Action::receive, 0, 1, logs.call(0, 75, 225));  // of 300 ms: waits from 75 to 150
  logs.message(Action::send, 1, 0, logs.call(1, 150, 150));
  logs.end(0, 300);
  logs.end(1, 151);
  const auto waits = wait_states(logs.all(), Matching(logs.all()));
  const RankShares shares = rank_shares(logs.all(), waits, path_of(logs.all()));
  ASSERT_EQ(shares.waiting.size(), 2 * RankShares::intervals);
  EXPECT_EQ(shares.waiting[74], 0);
  EXPECT_EQ(shares.waiting[75], 1);
  EXPECT_EQ(shares.waiting[149], 1);
  EXPECT_EQ(shares.waiting[150], 0);
  EXPECT_EQ(shares.transfer[150], 1);
  EXPECT_EQ(shares.transfer[225], 0);
  EXPECT_EQ(shares.waiting[RankShares::intervals + 75], 0);
  ASSERT_EQ(shares.path.size(), RankShares::intervals);
  EXPECT_EQ(shares.path[0], 1);
  EXPECT_EQ(shares.path[299], 0);
}

TEST(RankShares, OfManyRanksAreMeansOfNeighbors) {
  RankLogs logs(2 * RankShares::most_rows);
  for (std::size_t rank = 0; rank < logs.all().size(); ++rank) {
    logs.call(rank, 0, rank % 2 == 0 ? 0 : 100);
    logs.end(rank, 100);
  }
  const auto waits = wait_states(logs.all(), Matching(logs.all()));
  const RankShares shares = rank_shares(logs.all(), waits, path_of(logs.all()));
  ASSERT_EQ(shares.transfer.size(), RankShares::most_rows * RankShares::intervals);
  for (const double share : shares.transfer) EXPECT_EQ(share, 0.5);
}

}  // namespace
}  // namespace commlens::replay

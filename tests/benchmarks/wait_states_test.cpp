// Which operations belong together, and how long their calls wait: of logs with known answers.
#include "benchmarks/replay/wait_states.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "benchmarks/replay/matching.hpp"
#include "rank_logs.hpp"

namespace commlens::replay {
namespace {

class WaitStatesOf : public testing::Test {
 protected:
  void find() { waits_ = wait_states(logs_.all(), Matching(logs_.all())); }
  void expect(std::size_t rank, WaitState state, double ms) const {
    EXPECT_NEAR(waits_[rank].of(state), ms / 1000, exact) << "rank " << rank;
    EXPECT_NEAR(waits_[rank].sum(), ms / 1000, exact) << "rank " << rank;
  }
  void expect_none(std::size_t rank) const { EXPECT_NEAR(waits_[rank].sum(), 0, exact) << "rank " << rank; }
  /// Rank 0 sends in the first call at 1 ms; rank 1 receives from 6 ms on.
  void send_before_receive(Action action, double exit_ms) {
    logs_.message(action, 0, 1, logs_.call(0, 1, exit_ms));
    logs_.message(Action::receive, 1, 0, logs_.call(1, 6, 8));
    find();
  }

  RankLogs logs_{3};
  std::vector<Waits> waits_;
};

TEST_F(WaitStatesOf, AReceiveWaitForItsSender) {
  logs_.message(Action::receive, 0, 1, logs_.call(0, 5, 12));
  logs_.message(Action::send, 1, 0, logs_.call(1, 10, 11));
  find();
  expect(0, WaitState::late_sender, 5);
  EXPECT_NEAR(waits_[0].of_call[0], 0.005, exact);
  expect_none(1);
  EXPECT_NEAR(waits_[1].caused_s, 0.005, exact);
  EXPECT_EQ(waits_[0].caused_s, 0);
}

TEST_F(WaitStatesOf, AProbeWaitForItsSenderAndItsReceiveDoesNot) {
  logs_.message(Action::probe, 0, 1, logs_.call(0, 5, 10.5));
  logs_.message(Action::receive, 0, 1, logs_.call(0, 11, 12));
  logs_.message(Action::send, 1, 0, logs_.call(1, 10, 11));
  find();
  expect(0, WaitState::late_sender, 5);
}

TEST_F(WaitStatesOf, ARequestBeginInTheCallThatCompletesIt) {
  const auto begin = logs_.call(0, 1, 1.5);
  const auto wait = logs_.call(0, 7, 12);
  logs_.message(Action::receive, 0, 1, begin).end = wait;
  logs_.message(Action::send, 1, 0, logs_.call(1, 10, 11));
  find();
  expect(0, WaitState::late_sender, 3);
  EXPECT_EQ(waits_[0].of_call[begin], 0);
}

/// Two tests without result: all of the first is before the send, and half of the second.
TEST_F(WaitStatesOf, TestsBeforeTheOneThatSucceeds) {
  const auto begin = logs_.call(0, 0, 0.5);
  const auto first = logs_.test(0, 1, 3);
  const auto second = logs_.test(0, 4, 8);
  logs_.message(Action::receive, 0, 1, begin).end = logs_.call(0, 9, 10);
  logs_.message(Action::send, 1, 0, logs_.call(1, 6, 7));
  find();
  expect(0, WaitState::late_sender, 4);
  EXPECT_NEAR(waits_[0].of_call[first], 0.002, exact);
  EXPECT_NEAR(waits_[0].of_call[second], 0.002, exact);
  EXPECT_NEAR(waits_[1].caused_s, 0.004, exact);
}

/// They belong to the next call that completes something, and to that alone.
TEST_F(WaitStatesOf, TestsAreCountedOnce) {
  const auto begin = logs_.call(0, 0, 0.5);
  const auto other = logs_.call(0, 0.5, 1);
  logs_.test(0, 1, 2);
  logs_.call(0, 2, 3);  // something else
  logs_.test(0, 4, 5);
  logs_.message(Action::receive, 0, 1, begin, 0).end = logs_.test(0, 6, 7);  // completes earlier than in the program
  logs_.message(Action::receive, 0, 1, other, 1).end = logs_.call(0, 7, 12);
  logs_.message(Action::send, 1, 0, logs_.call(1, 6.5, 7), 0);
  logs_.message(Action::send, 1, 0, logs_.call(1, 10, 11), 1);
  find();
  expect(0, WaitState::late_sender, 1 + 0.5 + 3);
}

TEST_F(WaitStatesOf, AReceiveAreNoneWhereTheSenderWasFirst) {
  logs_.message(Action::receive, 0, 1, logs_.call(0, 5, 12));
  logs_.message(Action::send, 1, 0, logs_.call(1, 4, 4.5));
  find();
  expect_none(0);
  expect_none(1);
}

TEST_F(WaitStatesOf, ASendThatIsInMpiUntilThereIsAReceive) {
  send_before_receive(Action::send, 8);
  expect(0, WaitState::late_receiver, 5);
  EXPECT_NEAR(waits_[1].caused_s, 0.005, exact);
}

TEST_F(WaitStatesOf, ASendThatMpiHasTakenBeforeAreNone) {
  send_before_receive(Action::send, 2);
  expect_none(0);
}

TEST_F(WaitStatesOf, ASynchronousSendEndWithItAtTheLatest) {
  send_before_receive(Action::synchronous_send, 5);  // as far as the clocks tell
  expect(0, WaitState::late_receiver, 4);
}

TEST_F(WaitStatesOf, ABufferedSendAreNone) {
  send_before_receive(Action::buffered_send, 8);
  expect_none(0);
}

/// The other rank comes late, and posts its receive after its send.
TEST_F(WaitStatesOf, AnExchangeAreThoseForTheLateSenderFirst) {
  const auto begin = logs_.call(0, 0, 1);
  const auto wait = logs_.call(0, 1, 20);
  logs_.message(Action::send, 0, 1, begin, 1).end = wait;
  logs_.message(Action::receive, 0, 1, begin, 2).end = wait;
  logs_.message(Action::send, 1, 0, logs_.call(1, 10, 10.5), 2);
  logs_.message(Action::receive, 1, 0, logs_.call(1, 12, 13), 1);
  find();
  EXPECT_NEAR(waits_[0].of(WaitState::late_sender), 0.009, exact);
  EXPECT_NEAR(waits_[0].of(WaitState::late_receiver), 0.002, exact);
  EXPECT_NEAR(waits_[1].caused_s, 0.011, exact);
}

TEST(RankLogs, EndWhereTheyAreCut) {
  RankLog log{.end_s = 9, .calls = {{1, 2}, {3, 5}, {6, 8}}};
  log.operations = {{.begin = 0, .end = 2}, {.begin = 1, .end = 1}, {.begin = 2, .end = 2}, {.begin = 3}};
  keep_calls(log, log.calls.size());
  EXPECT_EQ(log.operations.size(), 3U);
  keep_until(log, 4.0);
  EXPECT_EQ(log.calls.size(), 2U);
  EXPECT_EQ(log.calls.back().exit_s, 4);
  EXPECT_EQ(log.end_s, 4);
  ASSERT_EQ(log.operations.size(), 2U);
  EXPECT_EQ(log.operations[0].end, Operation::never);
  EXPECT_EQ(log.operations[1].end, 1U);
}

TEST_F(WaitStatesOf, AWaitForSeveralAreThoseForTheLast) {
  const auto begin = logs_.call(0, 0, 1);
  const auto wait = logs_.call(0, 2, 20);
  logs_.message(Action::receive, 0, 1, begin).end = wait;
  logs_.message(Action::receive, 0, 2, begin).end = wait;
  logs_.message(Action::send, 0, 1, begin, 5).end = wait;
  logs_.message(Action::receive, 1, 0, logs_.call(1, 9, 10), 5);
  logs_.message(Action::send, 1, 0, logs_.call(1, 11, 12));
  logs_.message(Action::send, 2, 0, logs_.call(2, 15, 16));
  find();
  expect(0, WaitState::late_sender, 13);
  EXPECT_NEAR(waits_[2].caused_s, 0.013, exact);
  EXPECT_EQ(waits_[1].caused_s, 0);
}

TEST_F(WaitStatesOf, AnExchangeAreThoseForTheSender) {
  const auto exchange = [&](std::size_t rank, double enter_ms) {
    const auto call = logs_.call(rank, enter_ms, 7);
    logs_.message(Action::send, rank, 1 - rank, call);
    logs_.message(Action::receive, rank, 1 - rank, call);
  };
  exchange(0, 1);
  exchange(1, 6);
  find();
  expect(0, WaitState::late_sender, 5);
  expect_none(1);
}

TEST_F(WaitStatesOf, MessagesAreOfTheSameNumberTagAndCommunicator) {
  const auto first = logs_.call(0, 1, 9);
  const auto second = logs_.call(0, 10, 30);
  const auto third = logs_.call(0, 31, 60);
  logs_.message(Action::receive, 0, 1, first, 0);
  logs_.message(Action::receive, 0, 1, second, 1);
  logs_.message(Action::receive, 0, 1, third, 0).tag = 8;
  logs_.message(Action::receive, 0, 1, third, 0).communicator = 2;
  logs_.message(Action::send, 1, 0, logs_.call(1, 4, 5), 0);
  logs_.message(Action::send, 1, 0, logs_.call(1, 20, 21), 1);
  logs_.message(Action::send, 1, 0, logs_.call(1, 33, 34), 0).communicator = 2;
  logs_.message(Action::send, 1, 0, logs_.call(1, 40, 41), 0).tag = 8;
  EXPECT_EQ(Matching(logs_.all()).unmatched(), 0U);
  find();
  EXPECT_NEAR(waits_[0].of_call[first], 0.003, exact);
  EXPECT_NEAR(waits_[0].of_call[second], 0.010, exact);
  EXPECT_NEAR(waits_[0].of_call[third], 0.009, exact);
}

TEST_F(WaitStatesOf, MessagesToOneselfAreNone) {
  const auto call = logs_.call(0, 1, 2);
  logs_.message(Action::send, 0, 0, call);
  logs_.message(Action::receive, 0, 0, call);
  find();
  expect_none(0);
}

TEST_F(WaitStatesOf, MessagesWhoseOtherSideIsNotKnownAreNone) {
  logs_.message(Action::receive, 0, 1, logs_.call(0, 1, 9));
  logs_.message(Action::send, 1, 0, logs_.call(1, 4, 5), Operation::unknown);
  logs_.message(Action::send, 1, 0, logs_.call(1, 6, 7), Operation::unknown);
  logs_.message(Action::receive, 0, 1, logs_.call(0, 10, 19), Operation::unknown);
  EXPECT_EQ(Matching(logs_.all()).unmatched(), 4U);
  find();
  expect_none(0);
}

TEST_F(WaitStatesOf, ARequestThatNeverCompletesAreNone) {
  logs_.message(Action::receive, 0, 1, logs_.call(0, 1, 9)).end = Operation::never;
  logs_.message(Action::send, 1, 0, logs_.call(1, 4, 5));
  find();
  expect_none(0);
}

TEST_F(WaitStatesOf, ACollectiveLastUntilTheLastHasBegun) {
  for (const std::size_t rank : {0, 1, 2}) {
    const double enter_ms = std::vector{1.0, 9.0, 4.0}[rank];
    logs_.collective(Action::all_to_all, rank, logs_.call(rank, enter_ms, 11));
  }
  find();
  expect(0, WaitState::late_collective, 8);
  expect_none(1);
  expect(2, WaitState::late_collective, 5);
  EXPECT_NEAR(waits_[1].caused_s, 0.013, exact);
}

TEST_F(WaitStatesOf, ANonblockingCollectiveBeginInItsWait) {
  const auto begin = logs_.call(0, 1, 2);
  logs_.collective(Action::all_to_all, 0, begin).end = logs_.call(0, 6, 11);
  logs_.collective(Action::all_to_all, 1, logs_.call(1, 9, 11));
  find();
  expect(0, WaitState::late_collective, 3);
  expect_none(1);
}

TEST_F(WaitStatesOf, TwoCollectivesAreApart) {
  const auto two = [&](std::size_t rank, double first_ms, double second_ms) {
    logs_.collective(Action::all_to_all, rank, logs_.call(rank, first_ms, 8), 0, 1);
    logs_.collective(Action::all_to_all, rank, logs_.call(rank, second_ms, 30), 0, 2);
  };
  two(0, 1, 20);
  two(1, 3, 10);
  find();
  expect(0, WaitState::late_collective, 2);
  expect(1, WaitState::late_collective, 10);
}

/// Ranks enter at 1, 4 and 9 ms.
class WaitStatesOfACollective : public WaitStatesOf {
 protected:
  void enter(Action action, std::size_t root) {
    const double enter_ms[]{1, 4, 9};
    for (std::size_t rank = 0; rank < 3; ++rank) {
      Operation& own = logs_.collective(action, rank, logs_.call(rank, enter_ms[rank], 12), root);
      if (action != Action::neighbors) continue;
      // Rank 0 receives from rank 1, rank 1 from nobody, rank 2 from rank 0.
      logs_.sources(rank, std::vector<std::vector<std::int32_t>>{{1}, {}, {0}}[rank], own);
    }
    find();
  }
};

TEST_F(WaitStatesOfACollective, ToARootAreTheRootsAlone) {
  enter(Action::all_to_root, 1);
  expect_none(0);
  expect(1, WaitState::late_collective, 5);
  expect_none(2);
}

TEST_F(WaitStatesOfACollective, FromARootAreOfThoseBeforeIt) {
  enter(Action::root_to_all, 1);
  expect(0, WaitState::late_collective, 3);
  expect_none(1);
  expect_none(2);
}

TEST_F(WaitStatesOf, AScanAreForRanksBefore) {
  const double enter_ms[]{9, 1, 4};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    logs_.collective(Action::scan, rank, logs_.call(rank, enter_ms[rank], 12), 0);
  }
  find();
  expect_none(0);
  expect(1, WaitState::late_collective, 8);
  expect(2, WaitState::late_collective, 5);
}

TEST_F(WaitStatesOf, AScanInTheOrderOfItsCommunicator) {
  logs_.collective(Action::scan, 0, logs_.call(0, 1, 12)).place = 1;
  logs_.collective(Action::scan, 1, logs_.call(1, 4, 12)).place = 0;
  logs_.collective(Action::scan, 2, logs_.call(2, 9, 12));
  find();
  expect(0, WaitState::late_collective, 3);
  expect_none(1);
  expect_none(2);
}

TEST_F(WaitStatesOfACollective, OfNeighborsAreForThoseThatARankReceivesFrom) {
  enter(Action::neighbors, 0);
  expect(0, WaitState::late_collective, 3);
  expect_none(1);
  expect_none(2);
}

}  // namespace
}  // namespace commlens::replay

// Which message a receive gets, where some have wildcards.
#include "benchmarks/replay/message_order.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <optional>

namespace commlens::replay {
namespace {

constexpr Channel one{1, 7, 3};
constexpr Channel other{1, 8, 3};
const Channel any_rank{1, MPI_ANY_SOURCE, 3};

TEST(MessageOrder, CountsMessagesAndReceivesByChannel) {
  MessageOrder order(false);
  EXPECT_EQ(order.sent(one), 0);
  EXPECT_EQ(order.sent(one), 1);
  EXPECT_EQ(order.sent(other), 0);
  const auto first = order.posted(one);
  const auto second = order.posted(one);
  EXPECT_EQ(order.number(second, one), 1);
  EXPECT_EQ(order.number(first, one), 0);
}

TEST(MessageOrder, IsKnownOnceWildcardsBeforeAreComplete) {
  MessageOrder order(true);
  const auto before = order.posted(one);
  const auto wildcard = order.posted(any_rank);
  const auto after = order.posted(one);
  const auto elsewhere = order.posted(other);
  EXPECT_EQ(order.number(before, one), 0);
  EXPECT_EQ(order.number(elsewhere, other), std::nullopt);
  EXPECT_EQ(order.number(wildcard, one), 1);
  EXPECT_EQ(order.number(after, one), 2);
  EXPECT_EQ(order.number(order.posted(other), other), 1);
}

TEST(MessageOrder, WildcardsAreOfTheChannelThatTheyMatch) {
  MessageOrder order(true);
  const auto first = order.posted(any_rank);
  const auto second = order.posted(any_rank);
  EXPECT_EQ(order.number(second, one), std::nullopt) << "the first may have got one before";
  EXPECT_EQ(order.number(first, other), 0);
  EXPECT_EQ(order.number(order.posted(one), one), 1);
  EXPECT_EQ(order.number(order.posted(other), other), 1);
  const auto of_another_communicator = order.posted({2, 7, 3});
  order.posted(any_rank);
  EXPECT_EQ(order.number(of_another_communicator, {2, 7, 3}), 0);
}

}  // namespace
}  // namespace commlens::replay

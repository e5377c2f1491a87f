// Between ranks of one machine, through the loopback interface, as if each were on a node of its own.
#include "harness/node_poll.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

namespace commlens {
namespace {

using transport::Communicator;

NodeReport report_of(int rank) { return {.host = "node", .idle_s = rank + 0.5, .doing = {{"computing", {rank}}}}; }

/// A watch thread that answers for as long as it exists.
class Answering {
 public:
  Answering(NodePoll& poll, int rank)
      : thread_([&poll, rank](const std::stop_token& stop) {
          while (!stop.stop_requested()) poll.answer(0.02, [rank] { return report_of(rank); });
        }) {}

 private:
  std::jthread thread_;
};

Answers ask(NodePoll& poll) {
  return poll.ask([] { return report_of(0); }, {});
}

TEST(NodePoll, RanksTellWhatTheyDoAndWhoIsSilentIsNamed) {
  const Communicator world(MPI_COMM_WORLD);
  const int rank = world.rank();
  const int last = world.size() - 1;
  NodePoll poll(world, {rank}, true);
  std::unique_ptr<Answering> answering;
  if (rank > 0) answering = std::make_unique<Answering>(poll, rank);
  if (rank == 0) {
    const Answers all = ask(poll);
    ASSERT_EQ(all.reports.size(), static_cast<std::size_t>(last));
    for (int other = 1; other <= last; ++other) {
      const NodeReport& report = all.reports[static_cast<std::size_t>(other - 1)];
      EXPECT_EQ(report.doing, report_of(other).doing);
      EXPECT_EQ(report.idle_s, report_of(other).idle_s);
    }
    EXPECT_TRUE(all.silent.empty() && all.unreachable.empty());
  }
  world.barrier();
  if (last == 0) return;
  if (rank == last) answering.reset();
  world.barrier();
  if (rank == 0) {
    const Answers rest = ask(poll);
    EXPECT_EQ(rest.reports.size(), static_cast<std::size_t>(last - 1));
    ASSERT_EQ(rest.silent.size(), 1U);
    EXPECT_EQ(rest.silent.begin()->second, std::vector<int>{last});
  }
  world.barrier();
}

TEST(NodePoll, WhoHasNeverAnsweredIsNotCalledSilent) {
  const Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  NodePoll poll(world, {world.rank()}, true);
  if (world.rank() == 0) {
    const Answers none = ask(poll);
    EXPECT_TRUE(none.reports.empty() && none.silent.empty());
    EXPECT_FALSE(none.unreachable.empty());
  }
  world.barrier();
}

TEST(NodePoll, TheFirstThatIsAliveSeesToIt) {
  const Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  NodePoll poll(world, {world.rank()}, true);
  EXPECT_EQ(poll.leads(), world.rank() < 4);
  std::unique_ptr<Answering> answering;
  if (world.rank() == 0) answering = std::make_unique<Answering>(poll, 0);
  if (world.rank() == 1) {
    EXPECT_TRUE(ask(poll).has_lower);
  }
  world.barrier();
}

}  // namespace
}  // namespace commlens

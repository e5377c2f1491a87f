// Validation finds what MPI gets wrong, and traces that cannot be replayed are refused.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "replays.hpp"
#include "transport/transport.hpp"

namespace {

/// What a faulty MPI library does to messages of this rank.
struct Fault {
  bool flips = false;  ///< the last byte of what is sent
  bool loses = false;  ///< what a broadcast brings
};
Fault fault;

}  // namespace

// In the place of MPI's own: the program is linked to these.
extern "C" int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm communicator) {
  int size = 0;
  PMPI_Type_size(type, &size);
  if (fault.flips && count > 0) {
    // A message is in memory that is to be written again before it is sent again.
    auto* const bytes = static_cast<unsigned char*>(const_cast<void*>(data));
    bytes[static_cast<std::size_t>(count) * static_cast<std::size_t>(size) - 1] ^= 1U;
  }
  return PMPI_Send(data, count, type, to, tag, communicator);
}

extern "C" int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator) {
  if (!fault.loses || type != MPI_DOUBLE) return PMPI_Bcast(data, count, type, root, communicator);
  std::vector<double> lost(static_cast<std::size_t>(count));
  int rank = 0;
  PMPI_Comm_rank(communicator, &rank);
  return PMPI_Bcast(rank == root ? data : lost.data(), count, type, root, communicator);
}

namespace commlens::replay {
namespace {

TEST_F(Replay, FindsAByteThatIsWrong) {
  each_rank([&](std::int64_t rank, std::int64_t n) {
    call("MPI_Irecv bnTrtcQ", {0, 9, real_, (rank + n - 1) % n, 1, 0, 0});
    call("MPI_Send bnTrtc", {0, 9, real_, (rank + 1) % n, 1, 0});
    call("MPI_Wait q", {0});
  });
  fault.flips = true;
  const Outcome outcome = replayed();
  fault.flips = false;
  EXPECT_EQ(outcome.exit, Exit::failed);
  const std::string last = std::to_string(ranks_ - 1);
  EXPECT_NE(outcome.reason().find("rank 0, after 1 operation: MPI_Irecv, the message from rank " + last +
                                  " with tag 1: byte 71 of 72 is "),
            std::string::npos)
      << outcome.reason();
}

TEST_F(Replay, FindsAByteThatIsWrongOnTheStage) {
  each_rank([&](std::int64_t rank, std::int64_t n) {
    call("MPI_Irecv bnTrtcQ", {0, 9, real_, (rank + n - 1) % n, 1, 0, 0});
    call("MPI_Send bnTrtc", {0, 9, real_, (rank + 1) % n, 1, 0});
    call("MPI_Wait q", {0});
  });
  fault.flips = true;
  const Outcome outcome = replayed("", "staged");
  fault.flips = false;
  EXPECT_EQ(outcome.exit, Exit::failed);
  EXPECT_NE(outcome.reason().find("byte 71 of 72 is "), std::string::npos) << outcome.reason();
}

TEST_F(Replay, FindsASumThatATransportGetsWrong) {
  if (ranks_ < 2) GTEST_SKIP() << "the collectives of one rank stay with MPI";
  const auto& all = transport::all();
  if (std::none_of(all.begin(), all.end(), [](const auto& known) { return known.name == "biased"; })) {
    GTEST_SKIP() << "a transport that is wrong on purpose is in builds without a GPU alone";
  }
  each_rank([&](std::int64_t, std::int64_t) { call("MPI_Allreduce bbnToc", {0, 0, 9, real_, sum_, 0}); });
  const Outcome outcome = replayed("", "biased");
  EXPECT_EQ(outcome.exit, Exit::failed);
  EXPECT_NE(outcome.reason().find("rank 0, after 1 operation: MPI_Allreduce, MPI_SUM: byte "), std::string::npos)
      << outcome.reason();
}

TEST_F(Replay, FindsABroadcastThatIsLost) {
  if (ranks_ < 2) GTEST_SKIP() << "one rank has it before";
  each_rank([&](std::int64_t, std::int64_t) { call("MPI_Bcast bnTrc", {0, 9, real_, 0, 0}); });
  fault.loses = true;
  const Outcome outcome = replayed();
  fault.loses = false;
  EXPECT_EQ(outcome.exit, Exit::failed);
  EXPECT_NE(outcome.reason().find("rank 1, after 1 operation: MPI_Bcast, the block of rank 0: byte 0 of 72 is 0"),
            std::string::npos)
      << outcome.reason();
}

TEST_F(Replay, FindsBlocksThatAreTooShort) {
  each_rank([&](std::int64_t rank, std::int64_t n) {
    call("MPI_Gather bnTbnTrc", {0, rank == n - 1 ? 3 : 4, real_, 0, 4, real_, 0, 0});
  });
  EXPECT_NE(replayed().reason().find("MPI_Gather, the block of rank " + std::to_string(ranks_ - 1) + ": byte 24 of 32"),
            std::string::npos);
}

/// Only the least time is certain: the processor may do something else.
TEST_F(Replay, WaitsBetweenCallsAsTheProgramDid) {
  each_rank([&](std::int64_t, std::int64_t) { trace_.loop(10, [&] { call("MPI_Barrier c", {0}); }); });
  trace_.gap_ns = 2'000'000;
  const Outcome outcome = replayed(" --gaps wall");
  EXPECT_GE(outcome.record.at("statistics").at("time_s").at("median").get<double>(), 0.020);
  EXPECT_EQ(replayed(" --gaps cpu").exit, Exit::ok);
  EXPECT_EQ(replayed(" --gaps none").exit, Exit::ok);
}

/// Ranks are slow alternately, and each waits for the others. With mean gaps the replay would take only 20 ms on two
/// ranks.
TEST_F(Replay, WaitsBeforeEachCallAsLongAsTheProgramDid) {
  constexpr std::size_t iterations = 20;
  each_rank([&](std::int64_t rank, std::int64_t ranks) {
    trace_.loop(iterations, [&] { call("MPI_Barrier c", {0}); });
    trace_.exact_gaps_ns.emplace_back();
    for (std::size_t i = 0; i < iterations; ++i) {
      const bool is_slow = i % static_cast<std::size_t>(ranks) == static_cast<std::size_t>(rank);
      trace_.exact_gaps_ns.back().push_back(is_slow ? 2'000'000 : 0);
    }
  });
  const Outcome outcome = replayed(" --gaps wall");
  ASSERT_EQ(outcome.exit, Exit::ok) << outcome.reason();
  EXPECT_GE(outcome.record.at("statistics").at("time_s").at("median").get<double>(), 0.039);
}

/// Executions without exact times take the mean of their place.
TEST_F(Replay, WaitsForMeansWhereExactTimesEnd) {
  each_rank([&](std::int64_t, std::int64_t) {
    trace_.loop(10, [&] { call("MPI_Barrier c", {0}); });
    trace_.exact_gaps_ns.push_back({0, 0});
  });
  trace_.gap_ns = 2'000'000;
  EXPECT_GE(replayed(" --gaps wall").record.at("statistics").at("time_s").at("median").get<double>(), 0.016);
}

TEST_F(Replay, RefusesWhatItCannotReplay) {
  const auto problem = [&](const std::string& options = "") {
    return problem_of<UsageError>([&] { replayed(options); });
  };
  each_rank([&](std::int64_t, std::int64_t) {
    call("MPI_Barrier c", {0});
    call("MPI_Put", {});
  });
  EXPECT_NE(problem().find("50.0% of the program's MPI time was in calls that are not replayed, most of it in MPI_Put"),
            std::string::npos);
  EXPECT_EQ(problem(" --allow-partial"), "");
  trace_.is_complete = false;
  EXPECT_NE(problem().find("the program did not come to its end"), std::string::npos);

  TraceWriter more(static_cast<std::size_t>(ranks_ + 1));
  std::swap(trace_, more);
  EXPECT_NE(problem().find("it is a trace of " + std::to_string(ranks_ + 1) + " ranks; start as many, not " +
                           std::to_string(ranks_)),
            std::string::npos);
}

/// Of three ranks that do the same, in a ring.
TEST_F(Replay, OfAUniformTraceOnOtherNumbersOfRanks) {
  TraceWriter ring(3);
  ring.least_ranks = 3;
  const std::int64_t real = ring.type("MPI_DOUBLE", 8);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ring.rank(rank);
    ring.loop(5, [&] {
      ring.call("MPI_Sendrecv bnTdtbnTdtc", {0, 9, real, 1, 4, 0, 9, real, 2, 4, 0});
      ring.call("MPI_Barrier c", {0});
    });
  }
  std::swap(trace_, ring);
  if (ranks_ < 3) {
    const std::string problem = problem_of<UsageError>([&] { replayed(); });
    EXPECT_NE(problem.find("it is a trace of 3 ranks; start 3 or more, not "), std::string::npos) << problem;
    return;
  }
  const Outcome outcome = replayed();
  EXPECT_EQ(outcome.exit, Exit::ok) << outcome.reason();
  EXPECT_EQ(outcome.fact("calls"), static_cast<double>(ranks_ * 10));
  EXPECT_EQ(outcome.fact("unchecked_calls"), 0);
  const std::string report = outcome.record.value("report", Json()).dump();
  EXPECT_EQ(report.find("the program had 3 ranks") != std::string::npos, ranks_ != 3) << report;
}

}  // namespace
}  // namespace commlens::replay

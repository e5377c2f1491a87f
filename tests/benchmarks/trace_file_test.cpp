// Reading traces: whole ones, cut ones, and damaged ones, of which nothing worse than a sentence may come.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/replay/blocks.hpp"
#include "benchmarks/replay/function.hpp"
#include "benchmarks/replay/gaps.hpp"
#include "benchmarks/replay/options.hpp"
#include "benchmarks/replay/program.hpp"
#include "benchmarks/replay/trace.hpp"
#include "trace_writer.hpp"

namespace commlens::replay {
namespace {

/// Of two ranks, with calls of each kind.
std::string sample() {
  TraceWriter trace(2);
  const auto real = trace.type("MPI_DOUBLE", 8);
  const auto row = trace.type("", 24, 800);
  const auto sum = trace.operation("MPI_SUM");
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const auto other = static_cast<std::int64_t>(1 - rank);
    trace.rank(rank);
    trace.loop(1000, [&] {
      trace.call("MPI_Irecv bnTrtcQ", {0, 100, real, other, 3, 0, 0});
      trace.loop(3, [&] { trace.call("MPI_Test qf", {0, 0}, 7); });
      trace.call("MPI_Isend bnTrtcQ", {0, 4, row, other, 3, 0, 1});
      trace.call("MPI_Waitall ns", {2, trace.array({0, 1})});
    });
    trace.call("MPI_Comm_split cknC", {0, 1, 0, 2});
    trace.call("MPI_Cart_create cnaanC", {2, 1, trace.array({2}), trace.array({0}), 0, 3});
    trace.call("MPI_Neighbor_alltoall bnTbnTc", {0, 5, real, 0, 5, real, 3});
    trace.call("MPI_Alltoallv baaTbaaTc", {0, trace.array({5, 6}), trace.array({0, 5}), real, 0, trace.array({5, 6}),
                                           trace.array({0, 5}), real, 2});
    trace.call("MPI_Sendrecv bnTdtbnTdtc", {0, 1, real, 1, 5, 0, 1, real, 1, 5, 0});
    trace.call("MPI_Allreduce bbnToc", {1, 0, 10, real, sum, 0});
    trace.call("MPI_Put", {});
    trace.call("MPI_Comm_free F", {3});
    trace.call("MPI_Comm_create cgC", {0, trace.array({0, 1}), 3});
  }
  trace.exact_gaps_ns = {{5, 300, 70'000}, {}};
  return trace.content();
}

/// All that happens to a trace before MPI is called; the sentence that refuses it.
std::string problem_of(const std::string& content) {
  try {
    const Trace trace = parse_trace(content, "a.clt");
    recorded(trace);
    for (std::size_t rank = 0; rank < trace.ranks; ++rank) Program(trace, rank);
  } catch (const TraceError& error) {
    EXPECT_NE(std::string(error.what()), "");
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

TEST(TraceFile, IsRead) {
  const Trace trace = parse_trace(sample(), "a.clt");
  EXPECT_EQ(trace.ranks, 2);
  EXPECT_EQ(trace.seconds, 1.5);
  EXPECT_TRUE(trace.complete);
  EXPECT_FALSE(trace.cut);
  EXPECT_EQ(trace.types.at(1).extent, 800);
  const Body& body = trace.body(1);
  EXPECT_EQ(body.executions.at(1), 3000);
  EXPECT_EQ(trace.times(1).at(1).calls, 21000);
  std::size_t executions = 0;
  const auto* const first = body.nodes.data();
  for_each_execution(first, first + body.nodes.size(), [&](const Node&) { ++executions; });
  EXPECT_EQ(trace.exact_gaps(0).size(), 3);
  EXPECT_EQ(trace.exact_gaps(0).at(2).gap_cpu_ns, 70'000);
  EXPECT_TRUE(trace.exact_gaps(1).empty());
  EXPECT_EQ(executions, 1000 * 6 + 9);
}

TEST(TraceFile, TellsWhatIsNotReplayed) {
  const Recorded sums = recorded(parse_trace(sample(), "a.clt"));
  EXPECT_EQ(sums.not_replayed, "MPI_Put");
  EXPECT_DOUBLE_EQ(sums.not_replayed_s, 2e-6);
  EXPECT_DOUBLE_EQ(sums.calls, 2 * (1000 * 24 + 9));
}

/// Of five ranks in a ring, with one body.
std::string ring(std::int64_t communicator = 0) {
  TraceWriter trace(5);
  trace.least_ranks = 3;
  const auto real = trace.type("MPI_DOUBLE", 8);
  for (std::size_t rank = 0; rank < 5; ++rank) {
    trace.rank(rank);
    trace.call("MPI_Sendrecv bnTdtbnTdtc", {0, 1, real, 1, 0, 0, 1, real, 4, 0, communicator});
    trace.call("MPI_Send bnTdtc", {0, 1, real, -1, 0, 0});
  }
  return trace.content();
}

/// Where the file is cut, later executions take the mean of their place.
TEST(TraceFile, ExactTimesAreReadUpToTheLastWholeBlock) {
  TraceWriter writer(1);
  writer.rank(0);
  writer.loop(3, [&] { writer.call("MPI_Barrier c", {0}); });
  writer.exact_gaps_ns = {{1, 2, 3}};
  const std::string whole = writer.content();
  EXPECT_EQ(parse_trace(whole, "a.clt").exact_gaps(0).size(), 3);
  const Trace cut = parse_trace(whole.substr(0, whole.size() - 1), "a.clt");
  EXPECT_TRUE(cut.cut);
  EXPECT_EQ(cut.exact_gaps(0).size(), 2);
}

TEST(TraceFile, ExactTimesOfNoRankAndWithoutAnEndAreRefused) {
  TraceWriter writer(2);
  writer.rank(0);
  const std::string whole = writer.content();
  const std::string first = whole.substr(0, whole.size() - TraceWriter::block('R', {1, 0}).size());
  EXPECT_EQ(whole, first + TraceWriter::block('R', {1, 0}));
  EXPECT_EQ(problem_of(whole + TraceWriter::block('X', {1, 0})), "");
  EXPECT_NE(problem_of(first + TraceWriter::block('X', {1, 0})).find("rank 1 has no trace before"), std::string::npos);
  EXPECT_NE(problem_of(whole + TraceWriter::block('X', {1, 5})).find("a list is longer than the block"),
            std::string::npos);
}

TEST(TraceFile, DistancesAreFromTheOwnRank) {
  Trace trace = parse_trace(ring(), "a.clt");
  const auto expect_ring = [&](std::size_t ranks) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      Program program(trace, rank);
      const auto& calls = program.calls();
      EXPECT_EQ(calls.at(0)->dest, (rank + 1) % ranks);
      EXPECT_EQ(calls.at(0)->source, (rank + ranks - 1) % ranks);
      EXPECT_EQ(calls.at(1)->dest, MPI_PROC_NULL);
    }
  };
  expect_ring(5);
  for (const std::size_t ranks : {3, 4, 7, 12}) {
    trace.spread(ranks);
    expect_ring(ranks);
    EXPECT_EQ(recorded(trace).call_s_of_rank.size(), ranks);
  }
  EXPECT_NE(problem_of(ring(1)).find("it has distances in a communicator other than MPI_COMM_WORLD"),
            std::string::npos);
}

/// One body, and own times: rank r has those of rank r modulo the program's.
TEST(TraceFile, IsSpreadWithTheTimesOfEachRank) {
  constexpr std::size_t recorded = 3;
  TraceWriter writer(recorded);
  for (std::size_t rank = 0; rank < recorded; ++rank) {
    writer.rank(rank);
    writer.call("MPI_Test qf", {0, 0}, 1, rank);
    writer.exact_gaps_ns.push_back({100 * rank});
  }
  Trace trace = parse_trace(writer.content(), "a.clt");
  ASSERT_EQ(trace.bodies.size(), 1);
  for (const std::size_t ranks : {2, 5, 7}) {
    trace.spread(ranks);
    EXPECT_EQ(trace.ranks, ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(trace.times(rank).at(0).calls, 1 + rank % recorded);
      EXPECT_EQ(trace.exact_gaps(rank).at(0).gap_ns, 100 * (rank % recorded));
    }
  }
}

TEST(GapLoop, PassesTheTimeThatIsAskedFor) {
  const ExactGap exact{.gap_ns = 70, .gap_cpu_ns = 30};
  const LeafTimes often{.count = 10, .gap_ns = 700, .gap_cpu_ns = 300};
  for (const auto& [kind, ns] : {std::pair{Gaps::wall, 70}, {Gaps::cpu, 30}, {Gaps::none, 0}}) {
    const GapLoop loop(kind);
    EXPECT_EQ(loop.ns(exact), ns);
    EXPECT_EQ(loop.mean_ns(often), ns);
  }
}

TEST(TraceFile, NeedsMemoryForWhatIsUnderWay) {
  const Trace trace = parse_trace(sample(), "a.clt");
  Program program(trace, 0);
  EXPECT_EQ(program.slot(0).receive.bytes, 800);
  EXPECT_EQ(program.slot(1).send.bytes, 3 * 800 + 24);
  EXPECT_EQ(program.scratch().send.bytes, 11 * 8);
  EXPECT_EQ(program.scratch().receive.bytes, 11 * 8);
}

/// What MPI is not given is staged: under every transport on a GPU, else under `staged`, which alone uses `operation`.
TEST(TraceFile, NeedsHostMemoryForAStage) {
  const std::string file = testing::TempDir() + "stage_" + std::to_string(getpid()) + ".clt";
  std::ofstream(file, std::ios::binary) << sample();
  Options options;
  options.file = file;
  options.resolve(2);
  std::remove(file.c_str());
  for (const bool on_gpu : {true, false}) {
    options.scale_to_memory({.on_gpu = on_gpu}, 2);
    const MemoryEstimate needed = options.memory_estimate(0, 2);
    EXPECT_GE(needed.buffers, 800 + 3 * 800 + 24 + 2 * 11 * 8);
    EXPECT_EQ(needed.staging, on_gpu ? needed.buffers : 0);
    EXPECT_EQ(needed.operation, on_gpu ? 0 : needed.buffers);
  }
}

TEST(TraceFile, TypesHavePieces) {
  const Pieces pieces = pieces_of({.size = 25, .extent = 100, .pieces = 4});
  EXPECT_EQ(pieces.count, 4U);
  EXPECT_EQ(pieces.bytes, 7U);
  EXPECT_EQ(pieces.last_bytes, 4U);
  EXPECT_EQ(pieces.stride, 32U);
  EXPECT_EQ(pieces.span(), 100U);
}

TEST(Blocks, OfNeighborsBeyondABorderAreNotReceived) {
  std::array<std::byte, 32> data{};
  Arguments call;
  call.function = find_function("MPI_Neighbor_alltoall");
  call.receive = {.is_used = true, .count = 1, .type_number = 0, .data = data.data()};
  const Shape shape{.in_degree = 4, .out_degree = 4, .rank = 0, .missing = 0b0010};
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> ranges;
  for_each_received(call, shape, {{.name = "MPI_DOUBLE", .size = 8, .extent = 8}}, {},
                    [&](std::byte* begin, std::size_t bytes) { ranges.emplace_back(begin - data.data(), bytes); });
  EXPECT_EQ(ranges, (decltype(ranges){{0, 8}, {16, 16}}));
}

TEST(TraceFile, ChecksumIsThatOfZlib) { EXPECT_EQ(crc32("123456789"), 0xCBF43926U); }

TEST(TraceFile, ChecksumGoesOn) { EXPECT_EQ(crc32("6789", crc32("12345")), 0xCBF43926U); }

TEST(TraceFile, SaysWhatIsWrong) {
  EXPECT_EQ(problem_of(""), "a.clt: it is not a trace (`commlens profile --trace` writes one)");
  EXPECT_EQ(problem_of("commlens trace 2\n"), "a.clt: it is a trace of another version: this program reads version 1");
  const std::string whole = sample();
  EXPECT_EQ(problem_of(whole.substr(0, whole.size() - 1)),
            "a.clt: rank 1 of 2 left no trace, so that the others would wait for it (the file ends within a block: it "
            "was cut)");
}

TEST(TraceFile, OfAnyLengthIsRefusedOrRead) {
  const std::string whole = sample();
  EXPECT_EQ(problem_of(whole), "");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) EXPECT_NE(problem_of(whole.substr(0, bytes)), "") << bytes;
}

TEST(TraceFile, WithAnyByteChangedIsRefused) {
  const std::string whole = sample();
  for (std::size_t place = 0; place < whole.size(); ++place) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[place] = static_cast<char>(damaged[place] ^ (1U << bit));
      EXPECT_NE(problem_of(damaged), "") << "byte " << place << ", bit " << bit;
    }
  }
}

/// As a program would write it that knows checksums.
std::string with_checksums(std::string content) {
  std::string sound = content.substr(0, 17);
  std::size_t place = sound.size();
  while (place + 9 <= content.size()) {
    std::size_t bytes = 0;
    for (std::size_t i = 4; i-- > 0;) bytes = bytes << 8U | static_cast<unsigned char>(content[place + 1 + i]);
    bytes = std::min(bytes, content.size() - place - 9);
    sound += TraceWriter::block(content[place], content.substr(place + 9, bytes));
    place += 9 + bytes;
  }
  return sound;
}

TEST(TraceFile, WithAnyContentIsRefusedOrRead) {
  const std::string whole = sample();
  EXPECT_EQ(with_checksums(whole), whole);
  std::mt19937_64 random(1);
  std::size_t refused = 0;
  constexpr std::size_t mutations = 20'000;
  for (std::size_t i = 0; i < mutations; ++i) {
    std::string mutated = whole;
    for (std::uint64_t changes = random() % 4 + 1; changes > 0; --changes) {
      const std::size_t place = 17 + random() % (mutated.size() - 17);
      switch (random() % 4) {
        case 0:
          mutated[place] = static_cast<char>(random());
          break;
        case 1:
          mutated.erase(place, random() % 5);
          break;
        case 2:
          mutated.insert(place, random() % 12 + 1, '\xff');
          break;
        default:
          mutated[place] = static_cast<char>(mutated[place] ^ (1U << (random() % 8)));
      }
    }
    refused += problem_of(with_checksums(mutated)).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, mutations / 2);
}

}  // namespace
}  // namespace commlens::replay

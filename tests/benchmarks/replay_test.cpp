// Replays traces of every kind of call, on 1 to 4 ranks. What is received is validated, so that a call with wrong
// arguments, to the wrong rank or in the wrong order is found; and validation is shown to find what MPI gets wrong.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "started.hpp"
#include "trace_writer.hpp"

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

using Fields = TraceWriter::Fields;

struct Outcome {
  Exit exit = Exit::ok;
  Json record;

  [[nodiscard]] double fact(const std::string& name) const { return record.at("facts").at(name).get<double>(); }
  [[nodiscard]] std::string reason() const { return record.value("reason", ""); }
};

/// Of all ranks, each of which writes the same.
class Replay : public testing::Test {
 protected:
  using Sequence = std::function<void(std::int64_t rank, std::int64_t ranks)>;

  Replay() : trace_(static_cast<std::size_t>(world().size())) {}

  void each_rank(const Sequence& sequence) {
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      trace_.rank(static_cast<std::size_t>(rank));
      sequence(rank, ranks_);
    }
  }
  void call(const std::string& function, const Fields& fields, std::uint64_t calls = 1) {
    trace_.call(function, fields, calls);
  }
  [[nodiscard]] std::int64_t array(const Fields& values) { return trace_.array(values); }
  [[nodiscard]] std::int64_t array_of(std::int64_t length, const std::function<std::int64_t(std::int64_t)>& value) {
    Fields values;
    for (std::int64_t i = 0; i < length; ++i) values.push_back(value(i));
    return array(values);
  }

  Outcome replayed(const std::string& options = "") {
    const std::string file = write();
    const std::string record = file + ".record";
    Outcome outcome;
    outcome.exit = run(
        {.name = {},
         .ranks = {},
         .words = "replay --transport mpi --memory host --repeat 2 --trace " + file + " --record " + record + options});
    world().barrier();
    std::ifstream stream(record);
    for (std::string line; std::getline(stream, line);) outcome.record = parse_json(line);
    world().barrier();
    if (world().rank() == 0) std::remove(record.c_str());
    return outcome;
  }

  void expect_right() {
    const Outcome outcome = replayed();
    EXPECT_EQ(outcome.exit, Exit::ok) << outcome.reason();
    EXPECT_EQ(outcome.record.at("validation").at("status"), "passed");
    unchecked_ = outcome.fact("unchecked_calls");
    calls_ = outcome.fact("calls");
    bytes_ = outcome.fact("sent_bytes");
  }

  std::string write() {
    std::string file;
    if (world().rank() == 0) {
      file = testing::TempDir() + "replay_" + std::to_string(ranks_) + ".clt";
      std::ofstream(file, std::ios::binary) << trace_.content();
    }
    return world().broadcast(file);
  }

  TraceWriter trace_;
  const std::int64_t ranks_ = world().size();
  const std::int64_t real_ = trace_.type("MPI_DOUBLE", 8);
  const std::int64_t integer_ = trace_.type("MPI_INT", 4);
  const std::int64_t byte_ = trace_.type("MPI_BYTE", 1);
  const std::int64_t row_ = trace_.type("", 24, 800);
  const std::int64_t sum_ = trace_.operation("MPI_SUM");
  double unchecked_ = 0;
  double calls_ = 0;
  double bytes_ = 0;
};

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
  EXPECT_EQ(calls_, static_cast<double>(ranks_ * 10 * (8 + 13)));
}

TEST_F(Replay, OfTestsSpreadsTheirNumber) {
  each_rank([&](std::int64_t, std::int64_t) {
    trace_.loop(10, [&] { call("MPI_Iprobe rtcf", {0, 5, 1, 0}); });
    trace_.loop(7, [&] { call("MPI_Improbe rtcMf", {0, 5, 1, -1, 0}, 3); });
    call("MPI_Iprobe rtcf", {0, 5, 1, 0}, 12);
  });
  expect_right();
  EXPECT_EQ(calls_, static_cast<double>(ranks_ * (10 + 21 + 12)));
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
      call("MPI_Sendrecv bnTrtbnTrtc", {0, 100, real_, next, 1, 0, 100, real_, last, 1, 0});
      call("MPI_Sendrecv_replace bnTrtrtc", {0, 100, real_, next, 1, last, 1, 0});
      call("MPI_Sendrecv bnTrtbnTrtc", {0, 10, real_, -1, 1, 0, 10, real_, -1, 1, 0});  // MPI_PROC_NULL
      call("MPI_Isend bnTrtcQ", {0, 3, real_, next, 1, 0, 0});
      call("MPI_Recv bnTrtc", {0, 3, real_, -2, -1, 0});  // the wildcard is left
      call("MPI_Wait q", {0});
    });
  });
  expect_right();
  EXPECT_GT(unchecked_, 0);
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
  EXPECT_EQ(unchecked_, 0);
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
  EXPECT_EQ(unchecked_, 0);
}

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
      if (n < 4) {  // Open MPI 4.1 hangs in it on 4 ranks, in any program
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
  const Outcome outcome = replayed();
  EXPECT_EQ(outcome.reason(), "");
  EXPECT_EQ(outcome.exit, Exit::ok);
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
}

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

}  // namespace
}  // namespace commlens::replay

// Every collective operation over every transport, type by type and reduction by reduction; and that its validation
// finds what is dropped, repeated and swapped.
#include "transport/collectives.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "benchmarks/collectives/contents.hpp"
#include "benchmarks/collectives/contributions.hpp"
#include "every_transport.hpp"
#include "transport/by_messages.hpp"
#include "transport/mpi_collectives.hpp"
#include "transport/mpi_library.hpp"
#include "transport/mpi_types.hpp"

#if MPI_VERSION >= 4
static int large_count_calls = 0;

/// Called in place of the library's, by MPI's profiling interface.
int MPI_Alltoallv_c(const void* input, const MPI_Count* sends, const MPI_Aint* from, MPI_Datatype sent, void* output,
                    const MPI_Count* receives, const MPI_Aint* to, MPI_Datatype received, MPI_Comm communicator) {
  ++large_count_calls;
  return PMPI_Alltoallv_c(input, sends, from, sent, output, receives, to, received, communicator);
}
#endif

namespace commlens::collectives {
namespace {

using transport::CallMode;
using transport::Collective;
using transport::Counts;
using transport::Operation;
using transport::Shape;

/// 1 is less than a cache line and a word of any type; 1009 is prime.
constexpr std::size_t lengths[] = {0, 1, 2, 1009};

bool moves_data(Operation operation) { return operation != Operation::barrier; }

class EveryCollective : public transport::EveryTransport {
 protected:
  /// Benchmarks do not run on one rank over ccl: nothing would be sent.
  void SetUp() override {
    EveryTransport::SetUp();
    if (!IsSkipped() && ranks == 1 && GetParam().transport == "ccl") GTEST_SKIP() << "one rank";
  }

  /// With buffers of its own, as InPlaceOffsets says where it is in place. The arena is used again.
  Collective made(Operation operation, std::size_t count, DataType type, bool in_place = false) {
    used = 0;
    Collective collective{.operation = operation,
                          .shape = {.rank = rank,
                                    .ranks = ranks,
                                    .root = ranks - 1,
                                    .count = count,
                                    .grid = {.extents = transport::balanced_extents(ranks, 2)}},
                          .type = type,
                          .in_place = in_place};
    return place(collective);
  }

  Collective place(Collective collective) {
    const auto& description = collective.description();
    const std::size_t size = size_of(collective.type);
    const std::size_t input = description.input(collective.shape) * size;
    const std::size_t output = description.output(collective.shape) * size;
    if (collective.in_place) {
      const auto begin = transport->in_place(collective);
      first_ = allocate(std::max(begin.input * size + input, begin.output * size + output));
      collective.input = first_.as<std::byte>() + begin.input * size;
      collective.output = first_.as<std::byte>() + begin.output * size;
    } else {
      first_ = allocate(input);
      second_ = allocate(output);
      collective.input = first_.data();
      collective.output = second_.data();
    }
    return collective;
  }

  /// Nothing where the transport does not support it.
  void expect_right(const Collective& collective, CallMode mode = CallMode::blocking, std::size_t times = 2) {
    if (!transport->unsupported(collective, mode).empty()) return;
    SCOPED_TRACE(name(mode));
    const auto operation = transport->collective(collective, mode);
    ASSERT_NE(operation, nullptr);
    expect_blocks(collective, *operation, times);
  }

  void expect_blocks(const Collective& collective, transport::Exchange& operation, std::size_t times) {
    const std::size_t operations = std::min(times, exact_operations(collective));
    write(*stream, collective, 3);
    for (std::size_t i = 0; i < operations; ++i) operation.run(*stream);
    EXPECT_EQ(expect(*stream, collective, 3, operations).error, "") << text(collective);
    ++tried_;
  }

  static std::string text(const Collective& collective) {
    return std::string(name(collective.operation)) + " of " + std::to_string(collective.shape.count) + " " +
           std::string(name(collective.type)) + ", " + std::string(name(collective.reduction)) + ", " +
           std::string(name(collective.shape.counts)) + (collective.in_place ? ", in place" : "") + ", grid " +
           testing::PrintToString(collective.shape.grid.extents) + (collective.shape.grid.periodic ? ", periodic" : "");
  }

  /// Nothing where the transport does not support it. What is no block of the output keeps its value.
  void expect_blocks_alone(const Collective& collective, CallMode mode) {
    if (!transport->unsupported(collective, mode).empty()) return;
    const std::size_t elements = collective.description().output(collective.shape);
    auto* const output = static_cast<int*>(collective.output);
    std::vector<int> expected(elements, kept);
    if (elements > 0) stream->copy(output, expected.data(), elements * sizeof(int));
    expect_right(collective, mode);
    const auto values = device::download(output, elements, *stream);
    for (const transport::Block& block : collective.blocks()) {
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(block.output), block.count,
                  expected.begin() + static_cast<std::ptrdiff_t>(block.output));
    }
    EXPECT_EQ(values, expected) << text(collective) << ", " << name(mode);
  }

  /// Nothing where the library does not support it.
  void expect_large_counts(Operation operation, Counts counts, CallMode mode) {
    Collective collective = made(operation, 101, DataType::i32);
    collective.shape.counts = counts;
    used = 0;
    collective = place(collective);
    if (!transport->unsupported(collective, mode).empty()) return;
    transport::MpiCollective calls(world(), collective, mode, true);
    write(*stream, collective, 3);
    stream->wait();
    calls.start();
    calls.finish();
    EXPECT_EQ(expect(*stream, collective, 3, 1).error, "") << text(collective) << ", " << name(mode);
    ++tried_;
  }

  /// Whether some rank finds the output wrong.
  bool is_found(const Collective& collective, std::size_t in_round) {
    const bool wrong = !expect(*stream, collective, in_round, 1).error.empty();
    return world().maximum(wrong ? 1.0 : 0.0) > 0;
  }

  /// With an operation after `before` and before `after`, which do something wrong on some rank.
  template <class Before, class After, class Applies>
  void expect_found(Before before, After after, Applies applies) {
    for (const auto& description : transport::operations()) {
      const Operation operation = description.operation;
      const Collective collective = made(operation, length, DataType::i32, operation == Operation::broadcast);
      if (ranks == 1 || !moves_data(operation) || !applies(description)) continue;
      if (!transport->unsupported(collective, CallMode::blocking).empty()) continue;
      const auto run = transport->collective(collective, CallMode::blocking);
      write(*stream, collective, round);
      before(collective);
      run->run(*stream);
      after(collective);
      EXPECT_TRUE(is_found(collective, round)) << text(collective);
    }
  }
  template <class Before, class After>
  void expect_found(Before before, After after) {
    expect_found(before, after, [](const transport::OperationDescription&) { return true; });
  }

  static constexpr std::size_t length = 61;
  static constexpr std::size_t round = 5;
  static constexpr int kept = 0x5EED;
  static constexpr auto nothing = [](const Collective&) {};

  device::Buffer first_;
  device::Buffer second_;
  std::size_t tried_ = 0;
};

TEST_P(EveryCollective, GivesEveryRankItsBlocks) {
  for (const auto& operation : transport::operations()) {
    if (!moves_data(operation.operation)) continue;
    for (const std::size_t count : lengths) {
      for (const bool in_place : {false, true}) {
        if (in_place && operation.in_place == nullptr) continue;
        for (const auto mode : all_values<CallMode>()) {
          expect_right(made(operation.operation, count, DataType::f64, in_place), mode);
          if (!in_place || !operation.reduces) continue;
          Collective largest = made(operation.operation, count, DataType::f64, in_place);
          largest.reduction = Reduction::max;  // which most operations can repeat in place
          expect_right(largest, mode);
        }
      }
    }
  }
  EXPECT_GT(tried_, 50U);
}

/// What transports without a call of their own do, with the rank's own blocks copied and as messages to itself.
TEST_P(EveryCollective, IsMadeOfMessages) {
  // Which has messages of a rank to itself in kernels alone.
  if (GetParam().transport == "peer" && memory() == device::Memory::host) return;
  for (const auto& operation : transport::operations()) {
    for (const auto own : {transport::OwnBlocks::copied, transport::OwnBlocks::messages}) {
      for (const bool in_place : {false, true}) {
        if (in_place && operation.in_place == nullptr) continue;
        const Collective collective = made(operation.operation, length, DataType::i32, in_place);
        if (!transport::by_messages_unsupported(collective, CallMode::blocking).empty()) continue;
        expect_blocks(collective, *transport::by_messages(*transport, collective, own), 2);
      }
    }
  }
  EXPECT_GT(tried_, 10U);
}

TEST_P(EveryCollective, TakesACountForEachRank) {
  for (const auto& operation : transport::operations()) {
    if (!operation.has_counts) continue;
    for (const auto counts : all_values<Counts>()) {
      for (const bool in_place : {false, true}) {
        if (in_place && operation.in_place == nullptr) continue;
        Collective collective = made(operation.operation, 101, DataType::i32, in_place);
        collective.shape.counts = counts;
        used = 0;
        expect_right(place(collective));
      }
    }
  }
}

/// The calls of blocks that do not fit int counts.
TEST_P(EveryCollective, TakesLargeCounts) {
  if (!transport::mpi_has_large_counts()) GTEST_SKIP() << "of MPI 4";
  if (GetParam().transport != "mpi") GTEST_SKIP() << "MPI's own";
  for (const auto& operation : transport::operations()) {
    if (!operation.has_counts && operation.operation != Operation::reduce_scatter) continue;
    for (const auto counts : all_values<Counts>()) {
      if (counts != Counts::equal && !operation.has_counts) continue;
      for (const auto mode : all_values<CallMode>()) expect_large_counts(operation.operation, counts, mode);
    }
  }
  EXPECT_GT(tried_, 50U);
#if MPI_VERSION >= 4
  EXPECT_GT(large_count_calls, 0);
#endif
}

/// A block may be short enough and begin too far behind, or all blocks together have too many elements.
TEST(LargeCounts, AreNeededBeyondInts) {
  const auto needed = [](Operation operation, std::size_t count, Counts counts, DataType type = DataType::u8) {
    const Shape shape{.ranks = 4, .count = count, .counts = counts, .grid = {.extents = {4}}};
    return transport::needs_large_counts({.operation = operation, .shape = shape, .type = type});
  };
  constexpr std::size_t fits = (std::size_t{1} << 29) - 1;  // of each of 4 ranks
  for (const auto operation : {Operation::reduce_scatter, Operation::reduce_scatterv, Operation::alltoallw}) {
    EXPECT_FALSE(needed(operation, fits, Counts::equal)) << name(operation);
    EXPECT_TRUE(needed(operation, fits + 1, Counts::equal)) << name(operation);
  }
  EXPECT_TRUE(needed(Operation::alltoallw, fits, Counts::equal, DataType::i32)) << "offsets in bytes";
  for (const auto operation : {Operation::allgatherv, Operation::gatherv, Operation::scatterv, Operation::alltoallv}) {
    EXPECT_FALSE(needed(operation, 4 * fits, Counts::equal)) << "by a larger unit: " << name(operation);
    EXPECT_TRUE(needed(operation, 4 * fits, Counts::increasing)) << name(operation);
    EXPECT_FALSE(needed(operation, 1000, Counts::increasing)) << name(operation);
  }
  EXPECT_FALSE(needed(Operation::allreduce, 4 * fits, Counts::equal)) << "in several calls";
}

TEST(LargeCounts, ATypeOfManyElementsHasAllOfThemInARow) {
  for (const int count : {1, 7, 8, 21, 23}) {
    MPI_Datatype type = transport::contiguous(static_cast<std::size_t>(count), MPI_INT32_T, 7);
    std::vector<std::int32_t> sent(2 * static_cast<std::size_t>(count));
    std::iota(sent.begin(), sent.end(), 1);
    std::vector<std::int32_t> received(sent.size());
    MPI_Sendrecv(sent.data(), 2, type, 0, 0, received.data(), 2 * count, MPI_INT32_T, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    EXPECT_EQ(received, sent) << count;
    MPI_Type_free(&type);
  }
}

TEST(LargeCounts, AnOddBlockIsOneOfATypeAsLong) {
  constexpr std::size_t length = (std::size_t{1} << 31) + 1;
  const transport::Piece block{.offset = 0, .bytes = length};
  const transport::Layout layout({&block, 1}, "MPI_Allgather", MPI_INT32_T);
  MPI_Count bytes = 0;
  MPI_Type_size_x(layout.type(), &bytes);
  EXPECT_EQ(*layout.counts(), 1);
  EXPECT_EQ(bytes, static_cast<MPI_Count>(4 * length));
}

TEST_P(EveryCollective, TakesEveryGrid) {
  std::set<std::vector<int>> grids{{1, ranks}};
  for (const std::size_t dimensions : {1, 2, 3}) grids.insert(transport::balanced_extents(ranks, dimensions));
  for (const auto& operation : transport::operations()) {
    for (const auto& extents : grids) {
      for (const bool periodic : {false, true}) {
        for (const auto counts : all_values<Counts>()) {
          if (!operation.of_neighbors || (counts != Counts::equal && !operation.has_counts)) continue;
          Collective collective = made(operation.operation, 11, DataType::i32);
          collective.shape.grid = {.extents = extents, .periodic = periodic};
          collective.shape.counts = counts;
          for (const auto mode : all_values<CallMode>()) {
            used = 0;
            expect_blocks_alone(place(collective), mode);
          }
        }
      }
    }
  }
  EXPECT_GT(tried_, 100U);
}

/// A rank that is a neighbor on both sides sends a block to each side of this one.
TEST_P(EveryCollective, FindsSidesThatAreExchanged) {
  Collective collective = made(Operation::neighbor_alltoall, length, DataType::i32);
  collective.shape.grid = {.extents = {ranks}, .periodic = true};
  used = 0;
  collective = place(collective);
  if (!transport->unsupported(collective, CallMode::blocking).empty()) return;
  write(*stream, collective, round);
  transport->collective(collective, CallMode::blocking)->run(*stream);
  EXPECT_FALSE(is_found(collective, round));
  auto* const output = static_cast<int*>(collective.output);
  auto values = device::download(output, 2 * length, *stream);
  std::rotate(values.begin(), values.begin() + length, values.end());
  stream->copy(output, values.data(), values.size() * sizeof(int));
  EXPECT_TRUE(is_found(collective, round));
}

TEST_P(EveryCollective, TakesEveryTypeAndReduction) {
  std::set<DataType> types;
  for (const auto& operation : transport::operations()) {
    if (!moves_data(operation.operation)) continue;
    for (const auto type : all_values<DataType>()) {
      for (const auto reduction : all_values<Reduction>()) {
        if (reduction != Reduction::sum && !operation.reduces) break;
        Collective collective = made(operation.operation, 61, type);
        collective.reduction = reduction;
        const std::size_t before = tried_;
        expect_right(collective);
        if (tried_ > before) types.insert(type);
      }
    }
  }
  EXPECT_EQ(types.size(), all_values<DataType>().size());
}

/// In place sums of sums stay exact as long as exact_operations() says.
TEST_P(EveryCollective, StaysExactInPlace) {
  for (const auto type : {DataType::i32, DataType::f32, DataType::f64, DataType::f16}) {
    expect_right(made(Operation::allreduce, 61, type, true), CallMode::blocking, 20);
  }
}

/// An exclusive scan takes nothing from the last rank; of a rooted operation the last rank is the root.
int damaged_rank(Operation operation, int ranks) { return operation == Operation::exclusive_scan ? 0 : ranks - 1; }

/// What was sent by one rank is missing: zeros in its place.
TEST_P(EveryCollective, FindsWhatIsDropped) {
  const auto drop = [&](const Collective& collective) {
    if (rank != damaged_rank(collective.operation, ranks)) return;
    const std::size_t bytes = collective.description().input(collective.shape) * size_of(collective.type);
    stream->fill(const_cast<void*>(collective.input), 0, bytes);
  };
  expect_found(drop, nothing);
}

/// A rank sends what another one sends, too. Where the root alone sends, nothing can be sent twice.
TEST_P(EveryCollective, FindsWhatIsRepeated) {
  const auto repeat = [&](Collective collective) {
    if (rank != damaged_rank(collective.operation, ranks)) return;
    collective.shape.rank = (rank + 1) % ranks;
    const auto unused = allocate(collective.description().output(collective.shape) * sizeof(int));
    collective.output = unused.data();
    write(*stream, collective, round);
    stream->wait();
  };
  expect_found(repeat, nothing, [&](const transport::OperationDescription& description) {
    return !description.rooted ||
           description.input({.rank = 0, .ranks = ranks, .root = ranks - 1, .count = length}) > 0;
  });
}

/// The elements of the output are in each other's place.
TEST_P(EveryCollective, FindsWhatIsSwapped) {
  const auto swap = [&](const Collective& collective) {
    const std::size_t elements = collective.description().output(collective.shape);
    if (elements == 0) return;
    auto* const output = static_cast<int*>(collective.output);
    auto values = device::download(output, elements, *stream);
    std::rotate(values.begin(), values.begin() + 1, values.end());
    stream->copy(output, values.data(), elements * sizeof(int));
    stream->wait();
  };
  expect_found(nothing, swap);
}

/// Nothing is sent at all.
TEST_P(EveryCollective, FindsThatNothingHappened) {
  for (const auto& description : transport::operations()) {
    for (const auto type : {DataType::u8, DataType::f64}) {
      const Collective collective = made(description.operation, 1, type);
      if (ranks == 1 || !moves_data(description.operation)) continue;
      for (std::size_t n = 0; n < 300; ++n) {  // a byte has 256 values
        write(*stream, collective, n);
        stream->wait();  // also where a rank has no output to compare
        EXPECT_TRUE(is_found(collective, n)) << text(collective) << ", round " << n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Places, EveryCollective, transport::places, name_of);

std::int64_t combine_bits(Reduction reduction, std::int64_t a, std::int64_t b) {
  switch (reduction) {
    case Reduction::band:
      return a & b;
    case Reduction::bor:
      return a | b;
    case Reduction::bxor:
      return a ^ b;
    case Reduction::land:
      return static_cast<std::int64_t>(a != 0 && b != 0);
    case Reduction::lor:
      return static_cast<std::int64_t>(a != 0 || b != 0);
    default:
      return static_cast<std::int64_t>((a != 0) != (b != 0));
  }
}

std::int64_t combine(Reduction reduction, std::int64_t a, std::int64_t b) {
  if (transport::is_of_bits(reduction)) return combine_bits(reduction, a, b);
  if (reduction == Reduction::prod) return a * b;
  if (reduction == Reduction::min) return std::min(a, b);
  return reduction == Reduction::max ? std::max(a, b) : a + b;
}

/// By a loop over the ranks, for more of them than a test can start.
std::int64_t looped(const Contributions& all, Reduction reduction, std::size_t i, int ranks) {
  std::int64_t result = all.of(i, 0);
  for (int rank = 1; rank < ranks; ++rank) result = combine(reduction, result, all.of(i, rank));
  if (reduction == Reduction::avg) return result / ranks;
  return reduction == Reduction::premulsum ? 2 * result : result;
}

template <class T>
void expect_exact(Reduction reduction, int ranks) {
  const ExactRange range = exact_range<T>();
  if (reduction == Reduction::avg && std::int64_t{ranks} * ranks > range.integer) return;
  const Contributions all(reduction, range, ranks, 4);
  for (std::size_t i = 0; i < 40; ++i) {
    const std::int64_t result = looped(all, reduction, i, ranks);
    ASSERT_EQ(all.combined(i, 0, ranks - 1), result) << name(reduction) << " of " << ranks << ", element " << i;
    const auto exact = static_cast<std::int64_t>(static_cast<double>(static_cast<T>(result)));
    ASSERT_EQ(exact, result) << name(reduction) << " of " << ranks << " is not exact";
  }
}

/// Without a GPU: what is asked is not done.
TEST(MpiCollectives, OpenMpiReducesDeviceMemoryWithBlockingCallsOnly) {
  const bool is_open_mpi = transport::mpi_family() == "openmpi";
  for (const auto& operation : transport::operations()) {
    Collective collective{.operation = operation.operation, .shape = {.ranks = 2, .count = 8}, .type = DataType::f64};
    collective.in_place = operation.operation == Operation::broadcast;
    for (const auto memory : all_values<device::Memory>()) {
      for (const auto mode : all_values<CallMode>()) {
        const auto reason = transport::mpi_unsupported(collective, mode, memory);
        const bool is_refused = reason.find("blocking calls only") != std::string::npos;
        const bool crashes = operation.reduces && memory == device::Memory::device && mode != CallMode::blocking;
        if (mode == CallMode::persistent && !is_refused) continue;  // which older libraries do not have
        EXPECT_EQ(is_refused, is_open_mpi && crashes) << reason;
      }
    }
  }
}

TEST(Contributions, AreCombinedAsByALoop) {
  for (const auto type : all_values<DataType>()) {
    for (const auto reduction : all_values<Reduction>()) {
      if (transport::is_of_bits(reduction) && !is_integer(type)) continue;
      for (const int ranks : {2, 3, 7, 64, 1000}) {
        with_element(type, [&](auto zero) { expect_exact<decltype(zero)>(reduction, ranks); });
      }
    }
  }
}

}  // namespace
}  // namespace commlens::collectives

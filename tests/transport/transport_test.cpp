// Every transport in every memory that it is fit for here: results, sizes that are odd, empty or long, and stream
// order.
#include "transport/transport.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "device/launch.hpp"
#include "transport/communicator.hpp"
#include "transport/mpi_calls.hpp"

namespace commlens::transport {
namespace {

using device::Memory;

/// What all tests use, from after MPI_Init to before MPI_Finalize.
class Everybody : public testing::Environment {
 public:
  void SetUp() override {
    communicator.emplace(MPI_COMM_WORLD);
    const int gpus = device::gpu_count();
    device = gpus > 0 ? device::open_gpu(communicator->rank() % gpus) : device::open_host();
    device->make_current();
  }
  void TearDown() override {
    device.reset();
    communicator.reset();
  }

  std::optional<Communicator> communicator;
  std::unique_ptr<device::Device> device;
};

auto* const everybody = new Everybody;  // GoogleTest owns it
const auto* const registered = testing::AddGlobalTestEnvironment(everybody);

const Communicator& world() { return *everybody->communicator; }
device::Device& this_device() { return *everybody->device; }

/// data[i] = first + i, after a pause that a transport without a wait does not survive: on a GPU the kernel is slow on
/// purpose; on the host the stream is lazy anyway.
void slow_iota(device::Stream& stream, int* data, std::size_t n, int first) {
  device::launch(
      stream, n, COMMLENS_LAMBDA(std::size_t i) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
        const long long start = clock64();
        while (clock64() - start < 20'000'000) {
        }
#endif
        data[i] = first + static_cast<int>(i);
      });
}

void scale(device::Stream& stream, int* data, std::size_t n, int factor) {
  device::launch(stream, n, COMMLENS_LAMBDA(std::size_t i) { data[i] *= factor; });
}

struct Place {
  std::string transport;
  Memory memory;
};

class EveryTransport : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    const auto& place = GetParam();
    if (!this_device().has(place.memory)) GTEST_SKIP() << "no " << device::name(place.memory) << " memory";
    const auto& all = kinds();
    const auto kind =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == place.transport; });
    ASSERT_NE(kind, all.end());
    const Surroundings surroundings{world(), this_device(), place.memory, ""};
    const std::string reason = world().first(kind->unfit(surroundings));
    if (!reason.empty()) GTEST_SKIP() << reason;
    transport = kind->make(surroundings);
    stream = this_device().stream(place.memory);
  }

  [[nodiscard]] device::Buffer ints(std::size_t count) const {
    auto buffer = this_device().allocate(GetParam().memory, count * sizeof(int));
    stream->fill(buffer.data(), 0xAB, buffer.bytes());
    stream->wait();
    return buffer;
  }

  [[nodiscard]] device::Buffer written(const std::vector<int>& values) const {
    auto buffer = ints(values.size());
    stream->copy(buffer.data(), values.data(), buffer.bytes());
    stream->wait();
    return buffer;
  }

  [[nodiscard]] std::vector<int> read(const device::Buffer& buffer) const {
    std::vector<int> values(buffer.bytes() / sizeof(int));
    stream->copy(values.data(), buffer.data(), buffer.bytes());
    stream->wait();
    return values;
  }

  static std::vector<int> sequence(std::size_t count, int first) {
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
  }

  const int rank = world().rank();
  const int ranks = world().size();
  std::unique_ptr<device::Stream> stream;
  std::unique_ptr<Transport> transport;
};

constexpr std::size_t odd_counts[] = {0, 1, 3, 1000, 65'537};

TEST_P(EveryTransport, SendsRoundARing) {
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  if (ranks == 1) GTEST_SKIP() << "a blocking send to oneself may wait for ever";
  for (const std::size_t count : odd_counts) {
    const auto outgoing = written(sequence(count, 1000 * rank));
    const auto incoming = ints(count);
    // The lowest rank receives last, so that no cycle of blocking sends can close.
    if (rank != 0) transport->receive(incoming.data(), incoming.bytes(), previous, *stream);
    transport->send(outgoing.data(), outgoing.bytes(), next, *stream);
    if (rank == 0) transport->receive(incoming.data(), incoming.bytes(), previous, *stream);
    EXPECT_EQ(read(incoming), sequence(count, 1000 * previous)) << count;
  }
}

TEST_P(EveryTransport, ExchangesWithAllNeighboursAgainAndAgain) {
  for (const std::size_t count : odd_counts) {
    std::vector<device::Buffer> outgoing;
    std::vector<device::Buffer> incoming;
    std::vector<Message> sends;
    std::vector<Message> receives;
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      const std::size_t length = count + static_cast<std::size_t>(rank) + static_cast<std::size_t>(peer);
      outgoing.push_back(written(sequence(length, 100 * rank + peer)));
      incoming.push_back(ints(length));
      sends.push_back({peer, outgoing.back().data(), outgoing.back().bytes()});
      receives.push_back({peer, incoming.back().data(), incoming.back().bytes()});
    }
    const auto exchange = transport->exchange(sends, receives);
    for (int repetition = 1; repetition <= 3; ++repetition) {
      for (const auto& buffer : incoming) stream->fill(buffer.data(), 0, buffer.bytes());
      exchange->start(*stream);
      exchange->finish(*stream);
      for (std::size_t i = 0; i < incoming.size(); ++i) {
        const int peer = receives[i].peer;
        EXPECT_EQ(read(incoming[i]), sequence(incoming[i].bytes() / sizeof(int), 100 * peer + rank)) << count;
      }
    }
  }
}

/// From each rank to those behind it that are its multiples, itself among them, one message behind the other but for a
/// gap; some are empty, some ranks have none.
class Neighbours : public EveryTransport {
 protected:
  static bool sends_to(int from, int to) { return to >= from && to % (from + 1) == 0; }
  [[nodiscard]] static std::size_t length(int from, int to) { return static_cast<std::size_t>(3 * ((from + to) % 4)); }

  /// Those of this rank, in a buffer.
  [[nodiscard]] std::vector<Message> messages(const device::Buffer& buffer, bool sends) const {
    std::vector<Message> all;
    std::size_t place = 0;
    for (int peer = 0; peer < ranks; ++peer) {
      const int from = sends ? rank : peer;
      const int to = sends ? peer : rank;
      if (!sends_to(from, to)) continue;
      all.push_back({peer, buffer.as<int>() + place, length(from, to) * sizeof(int)});
      place += length(from, to) + (peer == 1 ? 1 : 0);
    }
    return all;
  }

  /// What is in the buffer when every message is of its sender's and receiver's numbers.
  [[nodiscard]] std::vector<int> content(std::size_t count, bool sends, int gap) const {
    std::vector<int> values;
    for (int peer = 0; peer < ranks; ++peer) {
      const int from = sends ? rank : peer;
      const int to = sends ? peer : rank;
      if (!sends_to(from, to)) continue;
      for (std::size_t i = 0; i < length(from, to); ++i) values.push_back(1000 * from + 10 * to + static_cast<int>(i));
      if (peer == 1) values.push_back(gap);
    }
    values.resize(count, gap);
    return values;
  }

  void expect_delivery(Exchange& exchange, const device::Buffer& outgoing, const device::Buffer& incoming) const {
    const std::size_t count = incoming.bytes() / sizeof(int);
    for (int repetition = 0; repetition < 3; ++repetition) {
      const auto sent = content(count, true, -1);
      const std::vector<int> nothing(count, -7);
      stream->copy(outgoing.data(), sent.data(), outgoing.bytes());
      stream->copy(incoming.data(), nothing.data(), incoming.bytes());
      exchange.start(*stream);
      exchange.finish(*stream);
      EXPECT_EQ(read(incoming), content(count, false, -7));
    }
  }
};

TEST_P(Neighbours, ExchangeAllInOneCall) {
  const auto outgoing = ints(100);
  const auto incoming = ints(100);
  const auto exchange = transport->neighbor_exchange(messages(outgoing, true), messages(incoming, false));
  ASSERT_EQ(exchange != nullptr, transport->knows_neighbors());
  if (exchange == nullptr) GTEST_SKIP() << "this transport does not know them";
  expect_delivery(*exchange, outgoing, incoming);
}

TEST_P(Neighbours, ExchangeEachByItself) {
  if (GetParam().transport == "ccl") GTEST_SKIP() << "sends nothing to itself";
  const auto outgoing = ints(100);
  const auto incoming = ints(100);
  const auto exchange = transport->exchange(messages(outgoing, true), messages(incoming, false));
  expect_delivery(*exchange, outgoing, incoming);
}

TEST_P(Neighbours, NobodyNeedsAny) {
  const auto exchange = transport->neighbor_exchange({}, {});
  if (exchange == nullptr) GTEST_SKIP() << "this transport does not know them";
  exchange->start(*stream);
  exchange->finish(*stream);
}

TEST_P(EveryTransport, MessagesOfOnePairKeepTheirOrder) {
  if (ranks < 2) GTEST_SKIP() << "needs a pair";
  const auto many = written({1, 2, 3, 4, 5});
  const auto into = ints(5);
  std::vector<Message> sends;
  std::vector<Message> receives;
  for (int i = 0; i < 5; ++i) {
    if (rank == 0) sends.push_back({1, many.as<int>() + i, sizeof(int)});
    if (rank == 1) receives.push_back({0, into.as<int>() + i, sizeof(int)});
  }
  const auto exchange = transport->exchange(sends, receives);
  exchange->start(*stream);
  exchange->finish(*stream);
  if (rank == 1) {
    EXPECT_EQ(read(into), (std::vector<int>{1, 2, 3, 4, 5}));
  }
}

TEST_P(EveryTransport, AllreduceSumsInPlaceAndOutOfPlace) {
  for (const std::size_t count : odd_counts) {
    std::vector<int> expected(count);
    for (std::size_t i = 0; i < count; ++i) expected[i] = ranks * static_cast<int>(i) + ranks * (ranks - 1) / 2;
    const auto input = written(sequence(count, rank));
    const auto output = ints(count);
    transport->allreduce(input.data(), output.data(), count, DataType::i32, *stream);
    EXPECT_EQ(read(output), expected) << count;
    EXPECT_EQ(read(input), sequence(count, rank)) << "the input was written to";
    transport->allreduce(input.data(), input.data(), count, DataType::i32, *stream);
    EXPECT_EQ(read(input), expected) << count;
  }
}

TEST_P(EveryTransport, AllreduceKnowsEveryReductionOfReals) {
  // Powers of two, exact in every type: 4, 1, 2, 4, 1, 2 …
  const auto value = [](int of_rank, std::size_t i) { return 1 << ((static_cast<std::size_t>(of_rank) + 2 + i) % 3); };
  const auto expect_right = [&](DataType type, auto one) {
    using Real = decltype(one);
    constexpr std::size_t count = 7;
    for (const auto reduction : {Reduction::sum, Reduction::product, Reduction::minimum, Reduction::maximum}) {
      std::vector<Real> values(count);
      std::vector<Real> expected(count);
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<Real>(value(rank, i));
        expected[i] = static_cast<Real>(value(0, i));
        for (int other = 1; other < ranks; ++other) {
          const auto next = static_cast<Real>(value(other, i));
          if (reduction == Reduction::sum) expected[i] += next;
          if (reduction == Reduction::product) expected[i] *= next;
          if (reduction == Reduction::minimum) expected[i] = std::min(expected[i], next);
          if (reduction == Reduction::maximum) expected[i] = std::max(expected[i], next);
        }
      }
      const auto input = this_device().allocate(GetParam().memory, count * sizeof(Real));
      const auto output = this_device().allocate(GetParam().memory, count * sizeof(Real));
      stream->copy(input.data(), values.data(), input.bytes());
      transport->allreduce(input.data(), output.data(), count, type, *stream, reduction);
      std::vector<Real> found(count);
      stream->copy(found.data(), output.data(), output.bytes());
      stream->wait();
      EXPECT_EQ(found, expected) << name(type) << ", reduction " << static_cast<int>(reduction);
    }
  };
  expect_right(DataType::i32, std::int32_t{});
  expect_right(DataType::f32, float{});
  expect_right(DataType::f64, double{});
}

TEST_P(EveryTransport, AllreduceOnlySumsComplexNumbers) {
  const auto buffer = this_device().allocate(GetParam().memory, 16);
  for (const auto reduction : {Reduction::product, Reduction::minimum, Reduction::maximum}) {
    EXPECT_THROW(transport->allreduce(buffer.data(), buffer.data(), 1, DataType::c128, *stream, reduction), Error);
    EXPECT_THROW(transport->allreduce(buffer.data(), buffer.data(), 1, DataType::c64, *stream, reduction), Error);
  }
}

TEST_P(EveryTransport, AllreduceKnowsEveryType) {
  const auto sum_of = [&](DataType type, auto one, std::size_t reals) {
    using Real = decltype(one);
    const std::vector<Real> values(reals, static_cast<Real>(rank + 1));
    const auto buffer = this_device().allocate(GetParam().memory, reals * sizeof(Real));
    stream->copy(buffer.data(), values.data(), buffer.bytes());
    transport->allreduce(buffer.data(), buffer.data(), buffer.bytes() / size_of(type), type, *stream);
    std::vector<Real> found(reals);
    stream->copy(found.data(), buffer.data(), buffer.bytes());
    stream->wait();
    EXPECT_EQ(found, std::vector<Real>(reals, static_cast<Real>(ranks * (ranks + 1) / 2))) << name(type);
  };
  sum_of(DataType::i32, std::int32_t{}, 7);
  sum_of(DataType::f32, float{}, 7);
  sum_of(DataType::f64, double{}, 7);
  sum_of(DataType::c64, float{}, 14);
  sum_of(DataType::c128, double{}, 14);
}

TEST_P(EveryTransport, AlltoallvOfUnevenAndEmptyPiecesTouchesNothingElse) {
  // Rank r sends r + 2 s ints to rank s, none to itself, with a gap after each piece.
  const auto length = [&](int from, int to) { return from == to ? 0 : static_cast<std::size_t>(from + 2 * to); };
  constexpr std::size_t gap = 1;
  std::vector<Piece> sends;
  std::vector<Piece> receives;
  std::vector<int> values;
  std::vector<int> expected;
  for (int peer = 0; peer < ranks; ++peer) {
    sends.push_back({values.size() * sizeof(int), length(rank, peer) * sizeof(int)});
    receives.push_back({expected.size() * sizeof(int), length(peer, rank) * sizeof(int)});
    values.insert(values.end(), length(rank, peer), 10 * rank + peer);
    values.insert(values.end(), gap, -1);
    expected.insert(expected.end(), length(peer, rank), 10 * peer + rank);
    expected.insert(expected.end(), gap, -7);
  }
  const auto input = written(values);
  const auto output = written(std::vector<int>(expected.size(), -7));
  transport->alltoallv(input.data(), sends, output.data(), receives, *stream);
  EXPECT_EQ(read(output), expected);
}

TEST_P(EveryTransport, BroadcastsFromEveryRoot) {
  for (const std::size_t count : odd_counts) {
    for (int root = 0; root < ranks; ++root) {
      const auto buffer = written(rank == root ? sequence(count, root) : std::vector<int>(count, -1));
      transport->broadcast(buffer.data(), buffer.bytes(), root, *stream);
      EXPECT_EQ(read(buffer), sequence(count, root));
    }
  }
}

TEST_P(EveryTransport, BarrierReturns) {
  transport->barrier(*stream);
  stream->wait();
}

// Stream order: each operation comes straight after a kernel that is slow on purpose, and straight before one that uses
// its result; nobody waits for the stream in between but the transport.
class StreamOrder : public EveryTransport {
 protected:
  static constexpr std::size_t count = 1001;
};

TEST_P(StreamOrder, OfAllreduce) {
  const auto buffer = ints(count);
  slow_iota(*stream, buffer.as<int>(), count, rank);
  transport->allreduce(buffer.data(), buffer.data(), count, DataType::i32, *stream);
  scale(*stream, buffer.as<int>(), count, 3);
  std::vector<int> expected(count);
  for (std::size_t i = 0; i < count; ++i) expected[i] = 3 * (ranks * static_cast<int>(i) + ranks * (ranks - 1) / 2);
  EXPECT_EQ(read(buffer), expected);
}

TEST_P(StreamOrder, OfSendAndReceive) {
  if (ranks < 2) GTEST_SKIP() << "needs a pair";
  const auto buffer = ints(count);
  if (rank == 0) {
    slow_iota(*stream, buffer.as<int>(), count, 5);
    transport->send(buffer.data(), buffer.bytes(), 1, *stream);
    scale(*stream, buffer.as<int>(), count, 0);
    stream->wait();
  } else if (rank == 1) {
    slow_iota(*stream, buffer.as<int>(), count, -1);  // must not come after what is received
    transport->receive(buffer.data(), buffer.bytes(), 0, *stream);
    scale(*stream, buffer.as<int>(), count, 2);
    std::vector<int> expected = sequence(count, 5);
    for (int& value : expected) value *= 2;
    EXPECT_EQ(read(buffer), expected);
  }
}

TEST_P(StreamOrder, OfAnExchange) {
  if (ranks < 2) GTEST_SKIP() << "needs a pair";
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  const auto outgoing = ints(count);
  const auto incoming = ints(count);
  const auto exchange =
      transport->exchange({{next, outgoing.data(), outgoing.bytes()}}, {{previous, incoming.data(), incoming.bytes()}});
  slow_iota(*stream, outgoing.as<int>(), count, rank);
  slow_iota(*stream, incoming.as<int>(), count, -1);
  exchange->start(*stream);
  exchange->finish(*stream);
  scale(*stream, outgoing.as<int>(), count, 0);
  scale(*stream, incoming.as<int>(), count, 2);
  std::vector<int> expected = sequence(count, previous);
  for (int& value : expected) value *= 2;
  EXPECT_EQ(read(incoming), expected);
}

TEST_P(StreamOrder, OfAnExchangeBetweenNeighbours) {
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  const auto outgoing = ints(count);
  const auto incoming = ints(count);
  const auto exchange = transport->neighbor_exchange({{next, outgoing.data(), outgoing.bytes()}},
                                                     {{previous, incoming.data(), incoming.bytes()}});
  if (exchange == nullptr) GTEST_SKIP() << "this transport does not know them";
  slow_iota(*stream, outgoing.as<int>(), count, rank);
  slow_iota(*stream, incoming.as<int>(), count, -1);
  exchange->start(*stream);
  exchange->finish(*stream);
  scale(*stream, outgoing.as<int>(), count, 0);
  scale(*stream, incoming.as<int>(), count, 2);
  std::vector<int> expected = sequence(count, previous);
  for (int& value : expected) value *= 2;
  EXPECT_EQ(read(incoming), expected);
}

TEST_P(StreamOrder, OfAlltoallv) {
  const auto n = static_cast<std::size_t>(ranks);
  const auto input = ints(n);
  const auto output = ints(n);
  std::vector<Piece> pieces;
  for (std::size_t peer = 0; peer < n; ++peer) pieces.push_back({peer * sizeof(int), sizeof(int)});
  slow_iota(*stream, input.as<int>(), n, 10 * rank);
  slow_iota(*stream, output.as<int>(), n, -1);
  transport->alltoallv(input.data(), pieces, output.data(), pieces, *stream);
  scale(*stream, output.as<int>(), n, 2);
  std::vector<int> expected;
  for (int peer = 0; peer < ranks; ++peer) expected.push_back(2 * (10 * peer + rank));
  EXPECT_EQ(read(output), expected);
}

TEST_P(StreamOrder, OfBroadcast) {
  const auto buffer = ints(count);
  slow_iota(*stream, buffer.as<int>(), count, rank == 0 ? 4 : -1);
  transport->broadcast(buffer.data(), buffer.bytes(), 0, *stream);
  scale(*stream, buffer.as<int>(), count, 2);
  std::vector<int> expected = sequence(count, 4);
  for (int& value : expected) value *= 2;
  EXPECT_EQ(read(buffer), expected);
}

/// Does at once what it is given, and counts copies.
class CountingStream final : public device::Stream {
 public:
  void wait() override {}
  void copy(void* to, const void* from, std::size_t bytes) override {
    ++copies;
    std::memcpy(to, from, bytes);
  }
  void fill(void* data, unsigned char value, std::size_t bytes) override { std::memset(data, value, bytes); }
  void enqueue(std::function<void()> work) override { work(); }
  void record(device::Event& /*event*/) override {}
  void wait_for(device::Event& /*event*/) override {}
  void* native() override { return nullptr; }

  int copies = 0;
};

const auto places =
    testing::Values(Place{"mpi", Memory::host}, Place{"mpi", Memory::pinned}, Place{"mpi", Memory::device},
                    Place{"mpi", Memory::managed}, Place{"staged", Memory::host}, Place{"staged", Memory::pinned},
                    Place{"staged", Memory::device}, Place{"staged", Memory::managed}, Place{"ccl", Memory::device},
                    Place{"ccl", Memory::managed});
const auto place_name = [](const auto& info) {
  return info.param.transport + "_" + std::string(device::name(info.param.memory));
};
INSTANTIATE_TEST_SUITE_P(Places, EveryTransport, places, place_name);
INSTANTIATE_TEST_SUITE_P(Places, Neighbours, places, place_name);
INSTANTIATE_TEST_SUITE_P(Places, StreamOrder, places, place_name);

TEST(Kinds, ComeInTheOrderOfTables) {
  std::vector<std::string> names;
  for (const auto& kind : kinds()) names.push_back(kind.name);
  EXPECT_EQ(names, (std::vector<std::string>{"mpi", "staged", "ccl"}));
}

TEST(Mpi, RefusesNeighboursFurtherApartThanAnIntReaches) {
  const auto stream = this_device().stream(Memory::host);
  const auto transport = kinds().at(0).make({world(), this_device(), Memory::host, ""});
  int here = 0;  // nothing is read
  const auto far = reinterpret_cast<std::uintptr_t>(&here) + (std::uintptr_t{1} << 31) + 1;
  const std::vector<Message> messages{{0, &here, 1}, {0, reinterpret_cast<void*>(far), 1}};
  EXPECT_THROW(transport->neighbor_exchange(messages, messages), Error);
}

TEST(Staged, CopiesOnceWhatLiesOneBehindTheOther) {
  if (world().size() > 1) GTEST_SKIP() << "one rank is enough";
  CountingStream stream;
  const auto transport = kinds().at(1).make({world(), this_device(), Memory::host, ""});
  std::vector<int> out{1, 2, 3, 4, 5, 6};
  std::vector<int> in(7, 0);
  // Of those that go, all lie together; of those that come, the last lies apart.
  const std::vector<Message> sends{{0, &out[0], 4}, {0, &out[1], 12}, {0, &out[4], 8}};
  const std::vector<Message> receives{{0, &in[0], 4}, {0, &in[1], 12}, {0, &in[5], 8}};
  const auto exchange = transport->exchange(sends, receives);
  exchange->start(stream);
  EXPECT_EQ(stream.copies, 1);
  exchange->finish(stream);
  EXPECT_EQ(stream.copies, 3);
  EXPECT_EQ(in, (std::vector<int>{1, 2, 3, 4, 0, 5, 6}));
}

TEST(Staged, CopiesEachMessageOfAWindow) {
  if (world().size() > 1) GTEST_SKIP() << "one rank is enough";
  CountingStream stream;
  const auto transport = kinds().at(1).make({world(), this_device(), Memory::host, ""});
  int out = 9;
  int in = 0;
  const auto exchange = transport->exchange({{0, &out, 4}, {0, &out, 4}}, {{0, &in, 4}, {0, &in, 4}});
  exchange->start(stream);
  EXPECT_EQ(stream.copies, 2) << "what would be sent twice is copied twice";
  exchange->finish(stream);
  EXPECT_EQ(in, 9);
}

TEST(Mpi, HandsGpuMemoryToNobodyWhenTold) {
  if (!this_device().has(Memory::device)) GTEST_SKIP() << "no GPU";
  const Surroundings surroundings{world(), this_device(), Memory::device, "the probe crashed"};
  EXPECT_EQ(kinds().at(0).unfit(surroundings), "the probe crashed");
}

TEST(Ccl, RefusesWhatItCannotDoInWords) {
  const auto& ccl = kinds().at(2);
  EXPECT_FALSE(ccl.unfit(Surroundings{world(), this_device(), Memory::host, ""}).empty());
}

TEST(DataTypes, HaveNamesAndSizes) {
  for (const auto type : {DataType::i32, DataType::f32, DataType::f64, DataType::c64, DataType::c128}) {
    EXPECT_EQ(data_type_from(name(type)), type);
  }
  EXPECT_EQ(size_of(DataType::c128), 16U);
  EXPECT_FALSE(data_type_from("f16"));
}

}  // namespace
}  // namespace commlens::transport

// Stream order: each operation comes straight after a kernel that is slow on purpose, and straight before one that uses
// its result. Only the transport waits for the stream in between.
#include <cstddef>
#include <vector>

#include "device/device.hpp"
#include "device/launch.hpp"
#include "every_transport.hpp"

namespace commlens::transport {
namespace {

/// data[i] = first + i, so late that a transport without a wait gives wrong results: on a GPU the kernel is slow on
/// purpose; on the host the stream is lazy anyway.
void slow_iota(device::Stream& stream, int* data, std::size_t n, int first) {
  device::launch(
      stream, n, COMMLENS_LAMBDA(std::size_t i) {
#ifdef COMMLENS_GPU_CODE
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

/// To the next rank, and from the one before.
struct Ring {
  device::Buffer outgoing;
  device::Buffer incoming;
  std::vector<Message> sends;
  std::vector<Message> receives;
};

class StreamOrder : public EveryTransport {
 protected:
  static constexpr std::size_t count = 600'001;  // staged sends it in pieces

  static std::vector<int> multiples(int factor, int first) {
    std::vector<int> values = sequence(count, first);
    for (int& value : values) value *= factor;
    return values;
  }

  [[nodiscard]] Ring ring() const {
    Ring ring{ints(count), ints(count), {}, {}};
    ring.sends.push_back({(rank + 1) % ranks, ring.outgoing.data(), ring.outgoing.bytes()});
    ring.receives.push_back({(rank + ranks - 1) % ranks, ring.incoming.data(), ring.incoming.bytes()});
    return ring;
  }

  void expect_order(Exchange& exchange, const Ring& ring) const {
    expect_order(ring, [&] {
      exchange.start(*stream);
      exchange.finish(*stream);
    });
    expect_order(ring, [&] { exchange.run(*stream); });
  }

  template <class Operate>
  void expect_order(const Ring& ring, Operate operate) const {
    slow_iota(*stream, ring.outgoing.as<int>(), count, rank);
    slow_iota(*stream, ring.incoming.as<int>(), count, -1);
    operate();
    scale(*stream, ring.outgoing.as<int>(), count, 0);
    scale(*stream, ring.incoming.as<int>(), count, 2);
    EXPECT_EQ(read(ring.incoming), multiples(2, ring.receives.front().peer));
  }
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

/// What is only enqueued can be part of a graph, which does it again with what is then in the buffers.
TEST_P(StreamOrder, OfAGraph) {
  if (!transport->enqueues() || ranks < 2) GTEST_SKIP() << "needs a pair, and operations that never wait";
  const Ring buffers = ring();
  const auto sums = ints(count);
  const auto apart = transport->exchange(buffers.sends, buffers.receives);
  device::Replay replay;
  for (int times = 1; times <= 4; ++times) {
    slow_iota(*stream, buffers.outgoing.as<int>(), count, times);
    slow_iota(*stream, sums.as<int>(), count, 0);
    replay.run(*stream, [&] {
      apart->start(*stream);
      transport->allreduce(sums.data(), sums.data(), count, DataType::i32, *stream);
      apart->finish(*stream);
      scale(*stream, buffers.incoming.as<int>(), count, 2);
    });
    EXPECT_EQ(read(buffers.incoming), multiples(2, times));
    EXPECT_EQ(read(sums), multiples(ranks, 0));
  }
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
    EXPECT_EQ(read(buffer), multiples(2, 5));
  }
}

TEST_P(StreamOrder, OfAnExchange) {
  if (ranks < 2) GTEST_SKIP() << "needs a pair";
  const Ring messages = ring();
  expect_order(*transport->exchange(messages.sends, messages.receives), messages);
}

TEST_P(StreamOrder, OfANeighborExchange) {
  const Ring messages = ring();
  const auto exchange = transport->neighbor_exchange(messages.sends, messages.receives);
  if (exchange == nullptr) GTEST_SKIP() << "this transport has none";
  expect_order(*exchange, messages);
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

TEST_P(StreamOrder, OfACollective) {
  const auto buffer = ints(count);
  const Collective broadcast{.operation = Operation::broadcast,
                             .shape = {.rank = rank, .ranks = ranks, .count = count},
                             .type = DataType::i32,
                             .in_place = true,
                             .input = buffer.data(),
                             .output = buffer.data()};
  for (const auto mode : {CallMode::blocking, CallMode::nonblocking}) {
    const auto operation = transport->collective(broadcast, mode);
    slow_iota(*stream, buffer.as<int>(), count, rank == 0 ? 4 : -1);
    operation->run(*stream);
    scale(*stream, buffer.as<int>(), count, 2);
    EXPECT_EQ(read(buffer), multiples(2, 4));
  }
}

INSTANTIATE_TEST_SUITE_P(Places, StreamOrder, places, name_of);

}  // namespace
}  // namespace commlens::transport

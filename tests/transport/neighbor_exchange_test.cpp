// The same messages by exchange() and, as one call on a graph of the ranks, by neighbor_exchange().
#include <cstddef>
#include <string>
#include <vector>

#include "every_transport.hpp"

namespace commlens::transport {
namespace {

/// From each rank r to itself and to higher ranks that are multiples of r + 1. Messages are adjacent in memory but for
/// one gap; some are empty, and some ranks have none.
class NeighborExchange : public EveryTransport {
 protected:
  static bool sends_to(int from, int to) { return to >= from && to % (from + 1) == 0; }
  [[nodiscard]] static std::size_t length(int from, int to) { return static_cast<std::size_t>(3 * ((from + to) % 4)); }

  /// The messages of this rank, in a buffer.
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

  /// The contents of the buffer, with numbers that depend on sender and receiver, and `gap` elsewhere.
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

TEST_P(NeighborExchange, ExchangeAllInOneCall) {
  const auto outgoing = ints(100);
  const auto incoming = ints(100);
  const auto exchange = transport->neighbor_exchange(messages(outgoing, true), messages(incoming, false));
  ASSERT_EQ(exchange != nullptr, transport->has_neighbor_exchange());
  if (exchange == nullptr) GTEST_SKIP() << "this transport has none";
  expect_delivery(*exchange, outgoing, incoming);
}

TEST_P(NeighborExchange, ExchangeEachByItself) {
  if (GetParam().transport == "ccl") GTEST_SKIP() << "sends nothing to itself";
  const auto outgoing = ints(100);
  const auto incoming = ints(100);
  const auto exchange = transport->exchange(messages(outgoing, true), messages(incoming, false));
  expect_delivery(*exchange, outgoing, incoming);
}

TEST_P(NeighborExchange, NoRankNeedsNeighbors) {
  const auto exchange = transport->neighbor_exchange({}, {});
  if (exchange == nullptr) GTEST_SKIP() << "this transport has none";
  exchange->start(*stream);
  exchange->finish(*stream);
}

INSTANTIATE_TEST_SUITE_P(Places, NeighborExchange, places, name_of);

}  // namespace
}  // namespace commlens::transport

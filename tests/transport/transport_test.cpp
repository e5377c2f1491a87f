// What every transport delivers, at sizes that are odd, empty or long.
#include "transport/transport.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "every_transport.hpp"

namespace commlens::transport {
namespace {

/// Of integers of four bytes: staged sends more than 524'288 in pieces.
constexpr std::size_t odd_counts[] = {0, 1, 3, 1000, 65'537, 524'289};

TEST_P(EveryTransport, SendsRoundARing) {
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  if (ranks == 1) GTEST_SKIP() << "a blocking send to oneself may wait for ever";
  for (const std::size_t count : {0, 1, 3, 1000, 65'537, 524'288, 524'289, 1'700'001}) {
    used = 0;  // of the arena
    const auto outgoing = uploaded(sequence(count, 1000 * rank));
    const auto incoming = ints(count);
    stream->fill(incoming.data(), 0xa5, incoming.bytes());  // it may have had the numbers of a shorter message
    stream->wait();
    // The lowest rank receives last, so that no cycle of blocking sends can close.
    if (rank != 0) transport->receive(incoming.data(), incoming.bytes(), previous, *stream);
    transport->send(outgoing.data(), outgoing.bytes(), next, *stream);
    if (rank == 0) transport->receive(incoming.data(), incoming.bytes(), previous, *stream);
    EXPECT_EQ(read(incoming), sequence(count, 1000 * previous)) << count;
  }
}

TEST_P(EveryTransport, ExchangesWithAllOthersAgainAndAgain) {
  for (const std::size_t count : odd_counts) {
    std::vector<device::Buffer> outgoing;
    std::vector<device::Buffer> incoming;
    std::vector<Message> sends;
    std::vector<Message> receives;
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      const std::size_t length = count + static_cast<std::size_t>(rank) + static_cast<std::size_t>(peer);
      outgoing.push_back(uploaded(sequence(length, 100 * rank + peer)));
      incoming.push_back(ints(length));
      sends.push_back({peer, outgoing.back().data(), outgoing.back().bytes()});
      receives.push_back({peer, incoming.back().data(), incoming.back().bytes()});
    }
    const auto exchange = transport->exchange(sends, receives);
    for (int repetition = 1; repetition <= 3; ++repetition) {
      for (const auto& buffer : incoming) stream->fill(buffer.data(), 0, buffer.bytes());
      if (repetition == 2) {
        exchange->run(*stream);
      } else {
        exchange->start(*stream);
        exchange->finish(*stream);
      }
      for (std::size_t i = 0; i < incoming.size(); ++i) {
        const int peer = receives[i].peer;
        EXPECT_EQ(read(incoming[i]), sequence(incoming[i].bytes() / sizeof(int), 100 * peer + rank)) << count;
      }
    }
  }
}

TEST_P(EveryTransport, ExchangesNothing) {
  const auto exchange = transport->exchange({}, {});
  exchange->run(*stream);
  exchange->start(*stream);
  exchange->finish(*stream);
  stream->wait();
}

TEST_P(EveryTransport, MessagesOfOnePairKeepTheirOrder) {
  if (ranks < 2) GTEST_SKIP() << "needs a pair";
  const auto many = uploaded(std::vector<int>{1, 2, 3, 4, 5});
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

/// As in a window of bandwidth tests.
TEST_P(EveryTransport, LongMessagesMayHaveOneAddress) {
  if (ranks < 2) GTEST_SKIP() << "needs a pair";
  constexpr std::size_t count = 600'001;
  const auto outgoing = uploaded(sequence(count, 5));
  const auto incoming = ints(count);
  stream->fill(incoming.data(), 0xa5, incoming.bytes());
  std::vector<Message> sends;
  std::vector<Message> receives;
  for (int i = 0; i < 5; ++i) {
    if (rank == 0) sends.push_back({1, outgoing.data(), outgoing.bytes()});
    if (rank == 1) receives.push_back({0, incoming.data(), incoming.bytes()});
  }
  transport->exchange(sends, receives)->run(*stream);
  if (rank == 1) {
    EXPECT_EQ(read(incoming), sequence(count, 5));
  }
}

TEST_P(EveryTransport, MessagesInEveryFormTouchNothingElse) {
  if (ranks < 2) GTEST_SKIP() << "needs a pair";
  constexpr std::size_t size = sizeof(int);
  const Blocks all_blocks[] = {{},
                               {.bytes = 2 * size, .stride = 3 * size, .offsets = {}},
                               {.bytes = 2 * size, .stride = 0, .offsets = {0, 2 * size, 7 * size}}};
  const std::vector<std::size_t> all_places[] = {{0, 1, 2, 3, 4, 5}, {0, 1, 3, 4, 6, 7}, {0, 1, 2, 3, 7, 8}};
  for (const CallMode mode : all_values<CallMode>()) {
    for (std::size_t i = 0; i < std::size(all_blocks); ++i) {
      const MessageForm form{.call = mode, .blocks = all_blocks[i]};
      if (!transport->form_unsupported(form).empty()) continue;
      const auto outgoing = uploaded(sequence(9, 100));
      const auto incoming = ints(9);
      std::vector<Message> sends;
      std::vector<Message> receives;
      if (rank == 0) sends.push_back({1, outgoing.data(), 6 * size});
      if (rank == 1) receives.push_back({0, incoming.data(), 6 * size});
      const auto exchange = transport->exchange_in_form(sends, receives, form);
      for (const int before : {-1, -2}) {
        stream->fill(incoming.data(), static_cast<unsigned char>(before), incoming.bytes());
        exchange->run(*stream);
        std::vector<int> expected(9, before == -1 ? -1 : static_cast<int>(0xFEFEFEFE));
        for (const std::size_t place : all_places[i]) expected[place] = 100 + static_cast<int>(place);
        if (rank == 1) {
          EXPECT_EQ(read(incoming), expected) << name(mode) << ", blocks " << i;
        }
      }
    }
  }
}

TEST_P(EveryTransport, AllreduceSumsInPlaceAndOutOfPlace) {
  for (const std::size_t count : odd_counts) {
    std::vector<int> expected(count);
    for (std::size_t i = 0; i < count; ++i) expected[i] = ranks * static_cast<int>(i) + ranks * (ranks - 1) / 2;
    const auto input = uploaded(sequence(count, rank));
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
  const auto expect_right = [&](DataType type, auto zero) {
    using Real = decltype(zero);
    constexpr std::size_t count = 7;
    for (const auto reduction : {Reduction::sum, Reduction::prod, Reduction::min, Reduction::max}) {
      std::vector<Real> values(count);
      std::vector<Real> expected(count);
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<Real>(value(rank, i));
        expected[i] = static_cast<Real>(value(0, i));
        for (int other = 1; other < ranks; ++other) {
          const auto next = static_cast<Real>(value(other, i));
          if (reduction == Reduction::sum) expected[i] += next;
          if (reduction == Reduction::prod) expected[i] *= next;
          if (reduction == Reduction::min) expected[i] = std::min(expected[i], next);
          if (reduction == Reduction::max) expected[i] = std::max(expected[i], next);
        }
      }
      const auto input = uploaded(values);
      const auto output = allocate(count * sizeof(Real));
      transport->allreduce(input.data(), output.data(), count, type, *stream, reduction);
      EXPECT_EQ(downloaded<Real>(output), expected) << name(type) << ", " << name(reduction);
    }
  };
  expect_right(DataType::i32, std::int32_t{});
  expect_right(DataType::f32, float{});
  expect_right(DataType::f64, double{});
}

TEST_P(EveryTransport, AllreduceOnlySumsComplexNumbers) {
  const auto buffer = allocate(16);
  for (const auto reduction : {Reduction::prod, Reduction::min, Reduction::max}) {
    EXPECT_THROW(transport->allreduce(buffer.data(), buffer.data(), 1, DataType::c128, *stream, reduction), Error);
    EXPECT_THROW(transport->allreduce(buffer.data(), buffer.data(), 1, DataType::c64, *stream, reduction), Error);
  }
}

TEST_P(EveryTransport, AllreduceKnowsEveryType) {
  const auto sum_of = [&](DataType type, auto zero, std::size_t reals) {
    using Real = decltype(zero);
    const auto buffer = uploaded(std::vector<Real>(reals, static_cast<Real>(rank + 1)));
    transport->allreduce(buffer.data(), buffer.data(), buffer.bytes() / size_of(type), type, *stream);
    const std::vector<Real> expected(reals, static_cast<Real>(ranks * (ranks + 1) / 2));
    EXPECT_EQ(downloaded<Real>(buffer), expected) << name(type);
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
  const auto input = uploaded(values);
  const auto output = uploaded(std::vector<int>(expected.size(), -7));
  transport->alltoallv(input.data(), sends, output.data(), receives, *stream);
  EXPECT_EQ(read(output), expected);
}

TEST_P(EveryTransport, BarrierReturns) {
  transport->barrier(*stream);
  stream->wait();
}

INSTANTIATE_TEST_SUITE_P(Places, EveryTransport, places, name_of);

}  // namespace
}  // namespace commlens::transport

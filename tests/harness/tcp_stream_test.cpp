// Between ranks of one machine, through the loopback interface.
#include "harness/tcp_stream.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>

namespace commlens {
namespace {

using transport::Communicator;

constexpr TcpStream::Settings loopback{.loopback = true};
/// Nothing, one byte, odd sizes, more than a socket takes at once.
constexpr std::size_t sizes[] = {0, 1, 7, 4097, 3'000'001};

void expect_transfers(TcpStream& stream, bool sends) {
  ASSERT_EQ(stream.problem(), "");
  EXPECT_EQ(stream.interface().empty(), !sends);
  for (const std::size_t bytes : sizes) {
    EXPECT_EQ(stream.transfer(0, 3, bytes) > 0, sends) << bytes;
    EXPECT_EQ(stream.transfer(2, 3, bytes) > 0, sends) << bytes << " after a lead";
  }
}

TEST(TcpStream, OneWay) {
  const Communicator world(MPI_COMM_WORLD);
  const int half = world.size() / 2;
  const bool sends = world.rank() < half;
  TcpStream stream(world, sends ? world.rank() + half : -1, loopback);
  expect_transfers(stream, sends);
}

TEST(TcpStream, BothWays) {
  const Communicator world(MPI_COMM_WORLD);
  const int peer = world.rank() ^ 1;
  const bool sends = peer < world.size();
  TcpStream stream(world, sends ? peer : -1, loopback);
  expect_transfers(stream, sends);
}

TEST(TcpStream, RingAndOfARankToItself) {
  const Communicator world(MPI_COMM_WORLD);
  TcpStream stream(world, (world.rank() + 1) % world.size(), loopback);
  expect_transfers(stream, true);
}

TEST(TcpStream, ManyToOne) {
  const Communicator world(MPI_COMM_WORLD);
  const bool sends = world.rank() > 0;
  TcpStream stream(world, sends ? 0 : -1, loopback);
  expect_transfers(stream, sends);
}

TEST(TcpStream, SeveralAtTheSameTimeDoNotMixUp) {
  const Communicator world(MPI_COMM_WORLD);
  const int size = world.size();
  TcpStream up(world, (world.rank() + 1) % size, loopback);
  TcpStream down(world, (world.rank() + size - 1) % size, loopback);
  expect_transfers(down, true);
  expect_transfers(up, true);
}

TEST(TcpStream, APeerThatDoesNotListenIsAProblemOfAllRanks) {
  const Communicator world(MPI_COMM_WORLD);
  const int last = world.size() - 1;
  const bool listens = world.rank() != last;
  const TcpStream stream(world, world.rank() == 0 ? last : -1,
                         {.loopback = true, .listens = listens, .connect_s = 0.2});
  EXPECT_EQ(stream.problem().rfind("no TCP connection from ", 0), 0U) << stream.problem();
}

TEST(TcpStream, ABrokenConnectionIsAnError) {
  const Communicator world(MPI_COMM_WORLD);
  if (world.size() < 2) GTEST_SKIP() << "needs a peer";
  const bool sends = world.rank() == 0;
  auto stream = std::make_unique<TcpStream>(world, sends ? 1 : -1, loopback);
  ASSERT_EQ(stream->problem(), "");
  if (!sends) stream.reset();
  world.barrier();
  if (sends) {
    EXPECT_THROW(stream->transfer(0, 1000, 100'000), Error);
  }
}

}  // namespace
}  // namespace commlens

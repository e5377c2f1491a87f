// What is particular to a single transport.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "transport/activity.hpp"
#include "world.hpp"

namespace commlens::transport {
namespace {

using device::Memory;

std::uint64_t messages_sent() {
  std::uint64_t sent = 0;
  for (std::size_t call = 1; call < Call::count(); ++call) {
    if (Call::text(call) == std::string("MPI_Isend")) sent += call_counts().at(call);
  }
  return sent;
}

/// Does at once what it is given, and counts copies.
class CountingStream final : public device::Stream {
 public:
  void wait() override {}
  void copy(void* to, const void* from, std::size_t bytes) override {
    ++copies;
    sent_at_copies.push_back(messages_sent() - sent_before);
    std::memcpy(to, from, bytes);
  }
  void fill(void* data, unsigned char value, std::size_t bytes) override { std::memset(data, value, bytes); }
  void enqueue(std::function<void()> work) override { work(); }
  void record(device::Event& /*event*/) override { ++records; }
  void wait_for(device::Event& /*event*/) override {}
  [[nodiscard]] bool on_gpu() const override { return false; }
  void* native() override { return nullptr; }

  int copies = 0;
  int records = 0;
  std::uint64_t sent_before = messages_sent();
  std::vector<std::uint64_t> sent_at_copies;
};

TEST(All, ComeInTheOrderOfTables) {
  std::vector<std::string> names;
  for (const auto& transport : all()) names.push_back(transport.name);
  EXPECT_EQ(names, (std::vector<std::string>{"mpi", "staged", "ccl", "peer"}));
}

TEST(Mpi, RefusesNeighborsFurtherApartThanAnIntReaches) {
  const auto stream = this_device().stream(Memory::host);
  const auto transport = all().at(0).make({world(), this_device(), Memory::host, ""});
  int here = 0;  // nothing is read
  const auto far = reinterpret_cast<std::uintptr_t>(&here) + (std::uintptr_t{1} << 31) + 1;
  const std::vector<Message> messages{{0, &here, 1}, {0, reinterpret_cast<void*>(far), 1}};
  EXPECT_THROW(transport->neighbor_exchange(messages, messages), Error);
}

/// Eight are copied ahead: then one is sent before the next one is copied.
TEST(Staged, SendsPiecesOfALongMessageWhileOthersAreCopied) {
  if (world().size() > 1) GTEST_SKIP() << "one rank is enough";
  const auto transport = all().at(1).make({world(), this_device(), Memory::host, ""});
  std::vector<std::uint8_t> out(10 * (std::size_t{2} << 20) + 5);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>(i % 251);
  std::vector<std::uint8_t> in(out.size() + 1, 77);
  const auto exchange = transport->exchange({{0, out.data(), out.size()}}, {{0, in.data(), out.size()}});
  for (int repetition = 0; repetition < 2; ++repetition) {
    CountingStream stream;
    std::fill(in.begin(), in.end() - 1, 0);
    exchange->start(stream);
    EXPECT_EQ(stream.sent_at_copies, (std::vector<std::uint64_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3}));
    EXPECT_EQ(stream.records, 10) << "the last piece is waited for with the stream";
    exchange->finish(stream);
    EXPECT_EQ(stream.copies, 22);
    EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin()));
    EXPECT_EQ(in.back(), 77);
  }
}

TEST(Staged, CopiesOnceWhatLiesOneBehindTheOther) {
  if (world().size() > 1) GTEST_SKIP() << "one rank is enough";
  CountingStream stream;
  const auto transport = all().at(1).make({world(), this_device(), Memory::host, ""});
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
  const auto transport = all().at(1).make({world(), this_device(), Memory::host, ""});
  int out = 9;
  int in = 0;
  const auto exchange = transport->exchange({{0, &out, 4}, {0, &out, 4}}, {{0, &in, 4}, {0, &in, 4}});
  exchange->start(stream);
  EXPECT_EQ(stream.copies, 2) << "what would be sent twice is copied twice";
  exchange->finish(stream);
  EXPECT_EQ(in, 9);
}

TEST(Mpi, IsUnsupportedForGpuMemoryIfTheProbeCrashed) {
  if (!this_device().has(Memory::device)) GTEST_SKIP() << "no GPU";
  const transport::Setup setup{world(), this_device(), Memory::device, "the probe crashed"};
  EXPECT_EQ(all().at(0).unsupported(setup), "the probe crashed");
}

TEST(Ccl, RefusesWhatItCannotDoInWords) {
  const auto& ccl = all().at(2);
  EXPECT_FALSE(ccl.unsupported(transport::Setup{world(), this_device(), Memory::host, ""}).empty());
}

TEST(DataTypes, HaveNamesAndSizes) {
  const std::size_t sizes[] = {1, 1, 4, 8, 2, 2, 1, 1, 4, 8, 8, 16};
  for (const auto type : all_values<DataType>()) {
    EXPECT_EQ(from_name<DataType>(name(type)), type);
    EXPECT_EQ(size_of(type), sizes[static_cast<std::size_t>(type)]) << name(type);
  }
  EXPECT_FALSE(from_name<DataType>("f24"));
}

}  // namespace
}  // namespace commlens::transport

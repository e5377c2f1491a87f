// What only the transport `peer` promises, and the memory that it shares.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "transport/shared_memory.hpp"
#include "transport/window.hpp"
#include "world.hpp"

namespace commlens::transport {
namespace {

class Peer : public InPlace {};

std::string bytes_of(const std::vector<double>& values) {
  std::string bytes(values.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST_P(Peer, RefusesABufferThatOthersCannotReach) {
  std::vector<int> mine(100);
  EXPECT_THROW(transport->send(mine.data(), 400, 0, *stream), Error);
  EXPECT_THROW((void)transport->exchange({{0, mine.data(), 400}}, {}), Error);
  EXPECT_THROW(transport->allreduce(mine.data(), mine.data(), 100, DataType::i32, *stream), Error);
}

TEST_P(Peer, AllRanksHaveTheSameSumToTheLastBit) {
  for (const std::size_t count : {7U, 1000U, 5003U, 100'003U}) {  // all at once, and in shares
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<double>(i) + 100.0 * rank) * 1e3;
    const auto input = uploaded(values);
    const auto output = allocate(count * sizeof(double));
    transport->allreduce(input.data(), output.data(), count, DataType::f64, *stream);
    const std::string result = bytes_of(downloaded<double>(output));
    for (const std::string& other : world().gather(result)) EXPECT_EQ(other, result) << count;
    std::vector<double> expected(count);
    for (std::size_t i = 0; i < count; ++i) {
      expected[i] = std::sin(static_cast<double>(i)) * 1e3;
      for (int other = 1; other < ranks; ++other) {
        expected[i] += std::sin(static_cast<double>(i) + 100.0 * other) * 1e3;
      }
    }
    EXPECT_EQ(result, bytes_of(expected)) << "in the order of the ranks";
  }
}

/// Both ways at once, so that both rings are full while both ranks still send.
TEST_P(Peer, SendsMoreMessagesThanARingHolds) {
  constexpr int messages = 800;
  const int other = (rank + 1) % ranks;
  const int before = (rank + ranks - 1) % ranks;
  const auto longest = [](int i) { return static_cast<std::size_t>(i % 3 == 0 ? 2500 : i % 7); };  // ints
  std::vector<device::Buffer> out;
  std::vector<device::Buffer> in;
  std::vector<Message> sends;
  std::vector<Message> receives;
  for (int i = 0; i < messages; ++i) {
    out.push_back(uploaded(std::vector<int>(longest(i), 1000 * rank + i)));
    in.push_back(uploaded(std::vector<int>(longest(i), -1)));
    sends.push_back({other, out.back().data(), out.back().bytes()});
    receives.push_back({before, in.back().data(), in.back().bytes()});
  }
  transport->exchange(sends, receives)->run(*stream);
  for (int i = 0; i < messages; ++i) {
    EXPECT_EQ(downloaded<int>(in[static_cast<std::size_t>(i)]), std::vector<int>(longest(i), 1000 * before + i));
  }
}

TEST_P(Peer, ExchangesUnderWayAtOnceMatchInTheOrderOfTheirStarts) {
  const auto first = uploaded(std::vector<int>{1});
  const auto second = uploaded(std::vector<int>{2});
  const auto into_first = uploaded(std::vector<int>{0});
  const auto into_second = uploaded(std::vector<int>{0});
  const auto exchange = transport->exchange({{rank, first.data(), 4}}, {{rank, into_first.data(), 4}});
  const auto two = transport->exchange({{rank, second.data(), 4}}, {{rank, into_second.data(), 4}});
  exchange->start(*stream);
  two->start(*stream);
  two->finish(*stream);
  exchange->finish(*stream);
  EXPECT_EQ(downloaded<int>(into_first), std::vector<int>{1});
  EXPECT_EQ(downloaded<int>(into_second), std::vector<int>{2});
}

TEST_P(Peer, RefusesAMessageThatIsLongerThanTheBuffer) {
  if (on_gpu(memory())) GTEST_SKIP() << "kernels cannot: the two lengths must be equal, as with NCCL";
  const auto out = uploaded(std::vector<int>{1, 2, 3});
  const auto in = uploaded(std::vector<int>{0});
  const auto exchange = transport->exchange({{rank, out.data(), 12}}, {{rank, in.data(), 4}});
  EXPECT_THROW(exchange->run(*stream), Error);
}

/// Windows into whose parts each rank can store by itself.
class LoadStoreWindow : public InPlace {
 protected:
  void SetUp() override {
    InPlace::SetUp();
    if (transport && transport->windows(memory()).empty()) GTEST_SKIP() << "no windows";
  }

  /// Of zeros.
  [[nodiscard]] std::unique_ptr<Window> window_of(std::size_t bytes) const {
    auto window = transport->window(WindowCreation::allocate, nullptr, bytes);
    stream->fill(window->data(), 0, bytes);
    stream->wait();
    window->fence();
    return window;
  }
  /// What rank 0 has.
  template <class T>
  [[nodiscard]] std::vector<T> got(Window& window, std::size_t count) const {
    const auto values = uploaded(std::vector<T>(count, T{99}));
    stream->wait();
    window.get(values.data(), values.bytes(), 0, 0);
    window.flush(0);
    return downloaded<T>(values);
  }
};

/// All ranks at the same time on the part of rank 0, for longer than they are scheduled one after the other.
TEST_P(LoadStoreWindow, LosesNoSum) {
  const auto window = window_of(sizeof(std::int64_t));
  constexpr int fetched = 3000;
  const auto one = uploaded(std::vector<std::int64_t>{1});
  const auto before = uploaded(std::vector<std::int64_t>{-1});
  stream->wait();
  std::string befores;
  window->fence();
  std::int64_t added = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  for (; added % 100 != 0 || std::chrono::steady_clock::now() < end; ++added) {
    window->accumulate(one.data(), 1, AtomicType::i64, 0);
  }
  for (int i = 0; i < fetched; ++i) {
    window->fetch_and_add(one.data(), before.data(), AtomicType::i64, 0);
    window->flush(0);
    befores += std::to_string(downloaded<std::int64_t>(before).front()) + " ";
  }
  window->fence();
  EXPECT_EQ(got<std::int64_t>(*window, 1).front(), world().sum(added + fetched));
  std::set<std::string> different;
  for (const std::string& of_a_rank : world().gather(befores)) {
    std::istringstream words(of_a_rank);
    for (std::string word; words >> word;) EXPECT_TRUE(different.insert(word).second) << word << " came twice";
  }
}

/// Several are in a word, which is what a GPU exchanges.
TEST_P(LoadStoreWindow, LosesNoSumOfBytes) {
  constexpr std::size_t count = 70;
  const auto window = window_of(count);
  const auto values = uploaded(std::vector<std::uint8_t>(count, static_cast<std::uint8_t>(1 + rank)));
  stream->wait();
  constexpr int times = 7;
  for (int i = 0; i < times; ++i) window->accumulate(values.data(), count, AtomicType::u8, 0);
  window->fence();
  const int sum = times * ranks * (ranks + 1) / 2;
  EXPECT_EQ(got<std::uint8_t>(*window, count), std::vector<std::uint8_t>(count, static_cast<std::uint8_t>(sum)));
}

TEST_P(LoadStoreWindow, SwapsForOneRankAtATime) {
  const auto window = window_of(sizeof(int));
  constexpr int swaps = 100;
  std::vector<int> numbers(ranks * swaps + 2);
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto all = uploaded(numbers);
  const auto before = uploaded(std::vector<int>{0});
  stream->wait();
  int seen = 0;
  for (int done = 0; done < swaps;) {
    window->compare_and_swap(all.as<int>() + seen + 1, all.as<int>() + seen, before.data(), AtomicType::i32, 0);
    window->flush(0);
    const int found = downloaded<int>(before).front();
    done += found == seen ? 1 : 0;
    seen = found == seen ? seen + 1 : found;
  }
  window->fence();
  EXPECT_EQ(got<int>(*window, 1).front(), ranks * swaps);
}

TEST_P(LoadStoreWindow, LetsOneRankAtATimeHoldTheLock) {
  const auto window = window_of(2 * sizeof(std::int64_t));
  constexpr int times = 2000;
  const auto agree = [&] {
    const auto values = got<std::int64_t>(*window, 2);
    EXPECT_EQ(values[0], values[1]) << "another rank was between its two stores";
    return values[0];
  };
  window->fence();  // all begin at the same time
  const std::size_t reused = used;
  for (int i = 0; i < times; ++i) {
    used = reused;
    window->lock(0, true);
    const auto next = uploaded(std::vector<std::int64_t>{agree() + 1});
    stream->wait();
    window->put(next.data(), next.bytes(), 0, 0);
    window->flush(0);
    std::this_thread::yield();  // so that another rank looks now, if it may
    window->put(next.data(), next.bytes(), 0, next.bytes());
    window->unlock(0);
    window->lock(0, false);
    agree();
    window->unlock(0);
  }
  window->fence();
  EXPECT_EQ(agree(), std::int64_t{times} * ranks);
}

TEST_P(LoadStoreWindow, IsOverTheBuffersOfEachRank) {
  const auto kinds = transport->windows(memory());
  if (std::find(kinds.begin(), kinds.end(), WindowCreation::create) == kinds.end())
    GTEST_SKIP() << "of its own memory only";
  const auto buffer = uploaded(std::vector<int>(ranks, -1));
  std::vector<int> values;
  for (int target = 0; target < ranks; ++target) values.push_back(100 * target + rank);
  const auto from = uploaded(values);
  stream->wait();
  const auto window = transport->window(WindowCreation::create, buffer.data(), buffer.bytes());
  EXPECT_EQ(window->data(), buffer.data());
  window->fence();
  for (int target = 0; target < ranks; ++target) {
    window->put(from.as<int>() + target, sizeof(int), target, static_cast<std::size_t>(rank) * sizeof(int));
  }
  window->fence();
  std::vector<int> expected;
  for (int source = 0; source < ranks; ++source) expected.push_back(100 * rank + source);
  EXPECT_EQ(downloaded<int>(buffer), expected);
}

TEST_P(LoadStoreWindow, OrdersTheEpochsOfPostAndStart) {
  constexpr int rounds = 300;
  const auto window = window_of(sizeof(int) * static_cast<std::size_t>(ranks));
  std::vector<int> values;
  for (int round = 0; round < rounds; ++round) values.push_back(1000 * (round + 1) + rank);  // none is 0
  const auto all = uploaded(values);
  stream->wait();
  for (int round = 0; round < rounds; ++round) {
    window->post();
    window->start();
    for (int target = 0; target < ranks; ++target) {
      if (target == rank) continue;
      window->put(all.as<int>() + round, sizeof(int), target, static_cast<std::size_t>(rank) * sizeof(int));
    }
    window->complete();
    window->wait();
    const auto part =
        device::download(static_cast<const int*>(window->data()), static_cast<std::size_t>(ranks), *stream);
    for (int from = 0; from < ranks; ++from) {
      if (from == rank) continue;
      EXPECT_EQ(part[static_cast<std::size_t>(from)], 1000 * (round + 1) + from);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, LoadStoreWindow,
                         testing::Values(Place{"peer", device::Memory::host}, Place{"peer", device::Memory::device},
                                         Place{"ccl", device::Memory::device}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Peers, Peer,
                         testing::Values(Place{"peer", device::Memory::host}, Place{"peer", device::Memory::device}),
                         name_of);

const Description& described() { return all().at(3); }

TEST(PeerDescription, RefusesManagedMemoryInWords) {
  const std::string why =
      described().unsupported(transport::Setup{world(), this_device(), device::Memory::managed, ""});
  EXPECT_NE(why.find("not on managed memory"), std::string::npos) << why;
}

/// A kernel that waits for ever would end a run that nobody asked to include it.
TEST(PeerDescription, IsNamedWhereItHasNotBeenMeasured) {
  if (device::backend() == "cuda" && world().size() == 2) GTEST_SKIP() << "measured";
  transport::Setup setup{world(), this_device(), device::Memory::device, ""};
  setup.is_named = false;
  EXPECT_NE(described().unsupported(setup).find("name it to try it"), std::string::npos);
}

TEST(PeerDescription, SaysHowMuchMemoryItLacks) {
  transport::Setup setup{world(), this_device(), device::Memory::host, ""};
  setup.buffers = 1e18;
  const std::string why = described().unsupported(setup);
  EXPECT_NE(why.find("MiB of /dev/shm"), std::string::npos) << why;
}

TEST(SharedMemory, EachRankReachesThePartsOfAll) {
  const Communicator node = world().node();
  std::string problem;
  const auto memory = SharedMemory::make(node, sizeof(int) * static_cast<std::size_t>(node.rank() + 1), problem);
  ASSERT_TRUE(memory) << problem;
  *reinterpret_cast<int*>(memory->of(node.rank())) = 10 + node.rank();
  node.barrier();
  for (int other = 0; other < node.size(); ++other) {
    EXPECT_EQ(*reinterpret_cast<int*>(memory->of(other)), 10 + other);
  }
}

TEST(SharedMemory, SaysOnAllRanksWhatOneCannotHave) {
  const Communicator node = world().node();
  std::string problem;
  const std::size_t bytes = node.rank() == node.size() - 1 ? std::size_t{1} << 60 : 8;
  EXPECT_EQ(SharedMemory::make(node, bytes, problem), nullptr);
  EXPECT_FALSE(problem.empty());
}

}  // namespace
}  // namespace commlens::transport

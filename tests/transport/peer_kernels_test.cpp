// The kernels of the transport `peer` for GPUs, run by threads of the host: what they deliver, and that they end. Only
// a GPU can show how fast they are, and whether its memory is as coherent as the host's.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "device/data_type.hpp"
#include "device/small_float.hpp"
#include "transport/collectives.hpp"
#include "transport/peer/messages.hpp"
#include "transport/peer/plan.hpp"
#include "transport/peer/reduction_kernels.hpp"
#include "transport/peer/window_kernels.hpp"

namespace commlens::transport::peer::gpu {
namespace {

constexpr unsigned threads = 3;
constexpr std::size_t arena_bytes = 16 << 20;

/// The k-th byte of the n-th message from one rank to another.
std::byte content(int from, int to, std::size_t n, std::size_t k) {
  return static_cast<std::byte>(31 * from + 17 * to + 7 * static_cast<int>(n) + static_cast<int>(k % 251));
}

class PeerKernels : public testing::TestWithParam<int> {
 protected:
  PeerKernels() {
    for (int rank = 0; rank < ranks; ++rank) {
      regions.push_back(std::make_unique<Region>());
      arenas.emplace_back(arena_bytes / sizeof(uint4));
    }
  }

  [[nodiscard]] Links links_of(int rank) {
    Links links;
    links.rank = rank;
    links.ranks = ranks;
    for (int other = 0; other < ranks; ++other) {
      links.regions[other] = regions[static_cast<std::size_t>(other)].get();
      links.arenas[other] = reinterpret_cast<std::byte*>(arenas[static_cast<std::size_t>(other)].data());
    }
    return links;
  }

  /// All ranks at the same time.
  template <class Job>
  void on_all(Job job) {
    std::vector<std::jthread> running;
    for (int rank = 0; rank < ranks; ++rank) running.emplace_back([&job, links = links_of(rank)] { job(links); });
  }

  static void transfer_all(const Links& links, const std::vector<Message>& sends,
                           const std::vector<Message>& receives) {
    const Plan plan(sends, receives);
    Lists lists = plan.lists();
    lists.transfers = plan.transfers().data();
    emulated::launch(plan.roles().blocks(), threads, [&] { transfer(links, lists, plan.roles()); });
  }

  /// Each rank sends messages of these lengths to each, also to itself.
  void exchange(const std::vector<std::size_t>& lengths, std::size_t gap) {
    on_all([&](const Links& links) {
      std::byte* next = links.arenas[links.rank];
      std::vector<Message> sends;
      std::vector<Message> receives;
      for (std::size_t n = 0; n < lengths.size(); ++n) {
        for (int peer = 0; peer < links.ranks; ++peer) {
          sends.push_back({peer, next, lengths[n]});
          for (std::size_t k = 0; k < lengths[n]; ++k) next[k] = content(links.rank, peer, n, k);
          next += lengths[n] + gap;
          receives.push_back({peer, next, lengths[n]});
          std::memset(next, 0xEE, lengths[n] + gap);
          next += lengths[n] + gap;
        }
      }
      transfer_all(links, sends, receives);
      for (std::size_t i = 0; i < receives.size(); ++i) {
        const auto* data = static_cast<const std::byte*>(receives[i].data);
        std::size_t right = 0;
        const std::size_t n = i / static_cast<std::size_t>(links.ranks);
        while (right < receives[i].bytes && data[right] == content(receives[i].peer, links.rank, n, right)) ++right;
        EXPECT_EQ(right, receives[i].bytes) << "message " << n << " from rank " << receives[i].peer;
        if (gap > 0) {
          EXPECT_EQ(data[receives[i].bytes], std::byte{0xEE}) << "written behind the message";
        }
      }
    });
  }

  /// Whole numbers, so that results are exact, also of 16 bits.
  template <class Element>
  static Element value(int rank, std::size_t i) {
    return static_cast<Element>((i * static_cast<std::size_t>(rank + 1) + static_cast<std::size_t>(rank)) % 30);
  }

  template <class Element>
  static Element expected(int first, int last, std::size_t i, Combiner combine) {
    auto result = value<Element>(first, i);
    for (int rank = first + 1; rank <= last; ++rank) result = combine(result, value<Element>(rank, i));
    return result;
  }

  /// Each rank fills its input, calls `reduce` with it and an output, and looks for the results of `share_of(rank)`
  /// there, and for what is written before and behind them. In place only if each rank writes what it alone reads.
  template <class Element, class Reduce, class ShareOf>
  void reduce(std::size_t count, bool in_place, std::size_t offset, Combiner combine, Reduce reduce, ShareOf share_of) {
    on_all([&](const Links& links) {
      auto* input = reinterpret_cast<Element*>(links.arenas[links.rank] + offset);
      auto* output = in_place ? input : input + arena_bytes / 2 / sizeof(Element);
      if (!in_place) std::memset(static_cast<void*>(output), 0, (count + 1) * sizeof(Element));
      for (std::size_t i = 0; i < count; ++i) input[i] = value<Element>(links.rank, i);
      input[count] = Element(0);
      reduce(links, input, output);
      const Share share = share_of(links.rank);
      for (std::size_t i = 0; i < share.count; ++i) {
        const auto wanted = expected<Element>(share.first, share.last, share.input + i, combine);
        if (output[share.output + i] == wanted) continue;
        ADD_FAILURE() << "element " << i << " of " << share.count << ", in place " << in_place << ", offset " << offset;
        break;
      }
      EXPECT_EQ(output[share.output + share.count], Element(0)) << "written behind the results";
      for (std::size_t i = 0; i < share.output; ++i) EXPECT_EQ(output[i], Element(0)) << "written before them";
      emulated::launch(1, threads + most_ranks, [&] { synchronize_ranks(links); });  // before others write new inputs
    });
  }

  template <class Element>
  void allreduce_at_once(std::size_t count, bool in_place, std::size_t offset, Combiner combine) {
    reduce<Element>(
        count, in_place, offset, combine,
        [&](const Links& links, const Element* input, Element* output) {
          emulated::launch(3, threads, [&] { reduce_at_once(links, input, output, count, combine); });
        },
        [&](int) { return Share{.last = ranks - 1, .count = count}; });
  }

  template <class Element, class ShareOf>
  static auto in_shares(Combiner combine, ShareOf share_of) {
    return [=](const Links& links, const Element* input, Element* output) {
      constexpr unsigned blocks = 3;
      Arrays arrays[blocks];
      emulated::launch(blocks, threads,
                       [&] { reduce_share(links, input, output, share_of(links.rank), combine, arrays[blockIdx.x]); });
    };
  }

  /// The shares are odd: begins and lengths are no multiples of a pack.
  template <class Element>
  void allreduce_in_shares(std::size_t count, bool in_place, std::size_t offset, Combiner combine) {
    const auto part = [n = static_cast<std::size_t>(ranks), last = ranks - 1, count](int rank) {
      const auto first = count * static_cast<std::size_t>(rank) / n;
      const auto end = count * static_cast<std::size_t>(rank + 1) / n;
      return Share{.last = last, .input = first, .count = end - first, .output = first, .to_all = true};
    };
    reduce<Element>(count, in_place, offset, combine, in_shares<Element>(combine, part),
                    [&](int) { return Share{.last = ranks - 1, .count = count}; });
  }

  /// Of the inputs of some ranks, other elements on each rank, and on one rank nothing.
  template <class Element>
  void reduce_some(std::size_t count, std::size_t offset, Combiner combine) {
    const auto share = [=](int rank) {
      const auto from = static_cast<std::size_t>(rank);
      return Share{.first = rank / 2, .last = rank, .input = 3 * from, .count = rank == 1 ? 0 : count, .output = from};
    };
    reduce<Element>(count + 3 * static_cast<std::size_t>(ranks), false, offset, combine,
                    in_shares<Element>(combine, share), share);
  }

  const int ranks = GetParam();
  std::vector<std::unique_ptr<Region>> regions;
  std::vector<std::vector<uint4>> arenas;
};

TEST_P(PeerKernels, DeliverMessagesOfEveryLength) {
  for (int repetition = 0; repetition < 3; ++repetition) {
    exchange({0, 1, 3, 4, 100, short_message, short_message + 1, 3 * short_message, 50'001}, 0);
    exchange({5, short_message + 5, 30'003}, 3);
  }
}

TEST_P(PeerKernels, DeliverMoreMessagesThanThereIsRoomFor) {
  exchange(std::vector<std::size_t>(3 * inbox_slots + 1, 8), 0);
  if (ranks <= 2) exchange(std::vector<std::size_t>(posts + 5, short_message + 1), 0);
}

/// Each rank receives first from the one that sends to it last, and there is not room for all.
TEST_P(PeerKernels, ProceedWhateverTheOrderOfTheLists) {
  if (ranks != 3) GTEST_SKIP() << "needs a cycle";
  on_all([&](const Links& links) {
    const int next = (links.rank + 1) % 3;
    const int before = (links.rank + 2) % 3;
    auto* data = links.arenas[links.rank];
    std::vector<Message> sends;
    std::vector<Message> receives;
    for (unsigned i = 0; i <= 4 * inbox_slots; ++i) sends.push_back({next, data, 8});
    for (unsigned i = 0; i <= 4 * inbox_slots; ++i) sends.push_back({before, data, 8});
    for (unsigned i = 0; i <= 4 * inbox_slots; ++i) receives.push_back({next, data + 64, 8});
    for (unsigned i = 0; i <= 4 * inbox_slots; ++i) receives.push_back({before, data + 64, 8});
    transfer_all(links, sends, receives);
  });
}

/// As after 16 million long messages, and 4 billion short ones.
TEST_P(PeerKernels, CountBeyondTheBitsOfTagsAndFlags) {
  constexpr Word many = (Word{1} << 32) - 3;
  for (const auto& region : regions) {
    for (Inbox& inbox : region->from) {
      std::fill(std::begin(inbox.arrived), std::end(inbox.arrived), many);
      std::fill(std::begin(inbox.taken), std::end(inbox.taken), many);
      std::fill(std::begin(inbox.posted), std::end(inbox.posted), tagged(many, 0));
    }
    for (int peer = 0; peer < most_ranks; ++peer) {
      Counters& counters = region->counters;
      for (auto* numbers : {counters.short_sent, counters.long_sent, counters.short_received, counters.long_received}) {
        numbers[peer] = many;
      }
    }
  }
  for (int times = 0; times < 3; ++times) exchange({8, short_message, 30'001}, 0);
}

TEST_P(PeerKernels, CountChunksAnewForEachMessage) {
  if (ranks > 2) GTEST_SKIP() << "two ranks are enough";
  for (unsigned messages = 0; messages <= posts; messages += 8) {
    exchange(std::vector<std::size_t>(8, 2 * short_message + 1), 0);
  }
}

constexpr Combiner sum{Reduction::sum};

TEST_P(PeerKernels, CombineAtOnce) {
  for (const std::size_t count : {1U, 2U, 7U, 1000U}) {
    for (const bool in_place : {false, true}) {
      allreduce_at_once<int>(count, in_place, 0, sum);
      allreduce_at_once<double>(count, in_place, 8, {Reduction::max});
    }
  }
}

TEST_P(PeerKernels, CombineInShares) {
  for (const std::size_t count : {1U, 5U, 1003U}) {
    for (const bool in_place : {false, true}) {
      allreduce_in_shares<int>(count, in_place, 4, sum);
      allreduce_in_shares<float>(count, in_place, 0, sum);
      allreduce_in_shares<double>(count, in_place, 8, sum);
      allreduce_in_shares<Half>(count, in_place, 2, sum);
    }
  }
}

TEST_P(PeerKernels, CombineTheInputsOfSomeRanks) {
  for (const std::size_t count : {1U, 16U, 1003U}) {
    reduce_some<std::int8_t>(count, 0, sum);
    reduce_some<std::int64_t>(count, 8, {Reduction::min});
    reduce_some<float>(count, 0, {Reduction::prod});
  }
}

TEST_P(PeerKernels, CombineByEveryReduction) {
  for (int reduction = 0; reduction <= static_cast<int>(Reduction::lxor); ++reduction) {
    const auto which = static_cast<Reduction>(reduction);
    if (!combining_unsupported(DataType::i32, which).empty()) continue;
    const int a = 6;
    const int b = 3;
    static const std::map<Reduction, int> results{
        {Reduction::sum, 9}, {Reduction::prod, 18}, {Reduction::min, 3},  {Reduction::max, 6}, {Reduction::band, 2},
        {Reduction::bor, 7}, {Reduction::bxor, 5},  {Reduction::land, 1}, {Reduction::lor, 1}, {Reduction::lxor, 0}};
    static const std::map<Reduction, int> results_with_0{
        {Reduction::sum, 6}, {Reduction::prod, 0}, {Reduction::min, 0},  {Reduction::max, 6}, {Reduction::band, 0},
        {Reduction::bor, 6}, {Reduction::bxor, 6}, {Reduction::land, 0}, {Reduction::lor, 1}, {Reduction::lxor, 1}};
    EXPECT_EQ(Combiner{which}(a, b), results.at(which)) << name(which);
    EXPECT_EQ(Combiner{which}(a, 0), results_with_0.at(which)) << name(which);
    allreduce_at_once<int>(5, false, 0, {which});
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, PeerKernels, testing::Values(1, 2, 3));

/// All threads at the same time on the same elements, some of which share a word, for longer than they are scheduled
/// one after the other.
template <class Element>
void expect_no_sum_is_lost() {
  constexpr std::size_t count = 7;
  alignas(8) Element sums[count + 1] = {};
  const std::vector<Element> ones(count, Element{1});
  std::atomic<std::int64_t> added{0};
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  const auto add_until_end = [&] {
    std::vector<Element> before(count);
    while (std::chrono::steady_clock::now() < end) {
      for (std::size_t k = 0; k < count; ++k) Add<Element>{sums, ones.data(), before.data()}(k);
      ++added;
    }
  };
  {
    std::vector<std::jthread> running;
    for (int thread = 0; thread < 4; ++thread) running.emplace_back(add_until_end);
  }
  for (std::size_t k = 0; k < count; ++k) EXPECT_EQ(sums[k], static_cast<Element>(added.load())) << k;
  EXPECT_EQ(sums[count], Element{0});
  Element before{};
  Add<Element>{sums, ones.data(), &before}(0);
  EXPECT_EQ(before, static_cast<Element>(added.load()));
}

TEST(WindowKernels, LoseNoSum) {
  expect_no_sum_is_lost<std::uint8_t>();
  expect_no_sum_is_lost<std::int32_t>();
  expect_no_sum_is_lost<std::int64_t>();
  expect_no_sum_is_lost<float>();
  expect_no_sum_is_lost<double>();
}

template <class Integer>
void expect_swaps() {
  alignas(8) Integer values[8] = {11, static_cast<Integer>(-2), 13};  // whole words
  const Integer given = 5;
  const Integer other = 6;
  const auto expected = static_cast<Integer>(-2);
  Integer before = 0;
  CompareAndSwap<Integer>{values + 1, &given, &expected, &before}(0);
  EXPECT_EQ(before, expected);
  EXPECT_EQ(values[1], given);
  CompareAndSwap<Integer>{values + 1, &other, &expected, &before}(0);
  EXPECT_EQ(before, given);
  EXPECT_EQ(values[1], given) << "it was not as expected";
  EXPECT_EQ(values[0], Integer{11});
  EXPECT_EQ(values[2], Integer{13});
}

TEST(WindowKernels, SwapWhatIsAsExpected) {
  expect_swaps<std::uint8_t>();
  expect_swaps<std::int32_t>();
  expect_swaps<std::int64_t>();
}

}  // namespace
}  // namespace commlens::transport::peer::gpu

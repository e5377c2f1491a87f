// The kernels of the transport `peer` for GPUs, run by threads of the host: what they deliver, and that they end. Only
// a GPU can show how fast they are, and whether its memory is as coherent as the host's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "device/operations.hpp"
#include "transport/peer/plan.hpp"
#include "transport/peer/sum_kernels.hpp"

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

  /// Whole numbers, so that sums are exact.
  template <class Element>
  void sum(std::size_t count, bool in_place, bool at_once, std::size_t offset) {
    const auto value = [](int rank, std::size_t i) {
      return static_cast<Element>((i * static_cast<std::size_t>(rank + 1) + static_cast<std::size_t>(rank)) % 1000);
    };
    on_all([&](const Links& links) {
      auto* input = reinterpret_cast<Element*>(links.arenas[links.rank] + offset);
      auto* output = in_place ? input : input + arena_bytes / 2 / sizeof(Element);
      for (std::size_t i = 0; i < count; ++i) input[i] = value(links.rank, i);
      constexpr unsigned blocks = 3;
      Arrays arrays[blocks];
      emulated::launch(blocks, threads, [&] {
        if (at_once) sum_at_once(links, input, output, count, device::Sum());
        if (!at_once) sum_in_shares(links, input, output, count, device::Sum(), arrays[blockIdx.x]);
      });
      std::size_t right = 0;
      for (bool equal = true; equal && right < count; right += equal ? 1 : 0) {
        Element expected = 0;
        for (int rank = 0; rank < links.ranks; ++rank) expected += value(rank, right);
        equal = output[right] == expected;
      }
      EXPECT_EQ(right, count) << "at once " << at_once << ", in place " << in_place << ", offset " << offset;
      emulated::launch(1, threads + most_ranks, [&] { synchronize_ranks(links); });  // before others write new inputs
    });
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

TEST_P(PeerKernels, SumAtOnce) {
  for (const std::size_t count : {1U, 2U, 7U, 1000U}) {
    for (const bool in_place : {false, true}) {
      sum<int>(count, in_place, true, 0);
      sum<double>(count, in_place, true, 8);
    }
  }
}

TEST_P(PeerKernels, SumInShares) {
  for (const std::size_t count : {1U, 5U, 1003U}) {
    for (const bool in_place : {false, true}) {
      sum<int>(count, in_place, false, 4);
      sum<float>(count, in_place, false, 0);
      sum<double>(count, in_place, false, 8);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, PeerKernels, testing::Values(1, 2, 3));

}  // namespace
}  // namespace commlens::transport::peer::gpu

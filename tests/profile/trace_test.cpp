// What a trace is made of: loops, lists of numbers, slots.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "trace/fold.hpp"
#include "trace/section.hpp"
#include "trace/slots.hpp"
#include "trace/tables.hpp"

namespace commlens::profile {
namespace {

using Sequence_ = std::vector<std::uint32_t>;

class Folded {
 public:
  explicit Folded(std::size_t capacity = 100000) : nodes_(capacity), pool_(capacity) {
    fold_.start({nodes_.data(), pool_.data(), &length_, &pool_length_, nodes_.size(), pool_.size()});
  }
  bool append(std::uint32_t event) {
    return fold_.append(event,
                        {.gap = 1, .cpu = 2, .call = event, .longest_gap = 1, .longest_call = event, .calls = 1});
  }
  [[nodiscard]] std::size_t length() const { return length_; }
  [[nodiscard]] std::size_t pool_length() const { return pool_length_; }
  [[nodiscard]] Sequence_ expanded() const {
    Sequence_ events;
    expand(nodes_.data(), length_, events);
    return events;
  }
  [[nodiscard]] Times total() const {
    Times sum{};
    add(nodes_.data(), length_, sum);
    return sum;
  }

 private:
  void expand(const Node* nodes, std::size_t count, Sequence_& events) const {
    for (const Node* node = nodes; node != nodes + count; ++node) {
      if (!node->is_loop()) {
        events.push_back(node->event);
        continue;
      }
      for (std::uint64_t i = 0; i < node->count; ++i) expand(pool_.data() + node->first, node->length, events);
    }
  }
  void add(const Node* nodes, std::size_t count, Times& sum) const {
    for (const Node* node = nodes; node != nodes + count; ++node) {
      if (node->is_loop()) {
        add(pool_.data() + node->first, node->length, sum);
      } else {
        sum.add(node->times);
      }
    }
  }

  std::vector<Node> nodes_;
  std::vector<Node> pool_;
  std::uint64_t length_ = 0;
  std::uint64_t pool_length_ = 0;
  std::unique_ptr<Fold> owner_ = std::make_unique<Fold>();
  Fold& fold_ = *owner_;
};

TEST(Fold, AMillionEqualIterationsAreOneLoop) {
  Folded folded;
  for (int i = 0; i < 1000000; ++i) {
    for (const std::uint32_t event : {4U, 7U, 4U}) folded.append(event);
  }
  EXPECT_LE(folded.length() + folded.pool_length(), 8U);
  EXPECT_EQ(folded.total().calls, 3000000U);
  EXPECT_EQ(folded.total().call, 15000000U);
  EXPECT_EQ(folded.total().longest_call, 7U);
}

TEST(Fold, FindsLoopsWithinLoops) {
  Folded folded;
  for (int step = 0; step < 50; ++step) {
    folded.append(1);
    for (int i = 0; i < 20; ++i) {
      for (int j = 0; j < 5; ++j) folded.append(2);
      folded.append(3);
    }
  }
  EXPECT_LE(folded.length() + folded.pool_length(), 24U);
  EXPECT_EQ(folded.expanded().size(), 50U * 121U);
}

/// A random program: loops, within them loops, sequences and repetitions of one event.
void run_program(std::mt19937& random, int depth, Folded& folded, Sequence_& expected) {
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  std::mt19937 body = random;
  random.discard(100);
  const std::uint32_t iterations = 1 + below(6);
  const bool is_alike = below(3) != 0;
  for (std::uint32_t i = 0; i < iterations; ++i) {
    std::mt19937 own = body;
    if (!is_alike) body.discard(1);
    const std::uint32_t length = 1 + static_cast<std::uint32_t>(own() % 4);
    for (std::uint32_t k = 0; k < length; ++k) {
      if (depth > 0 && own() % 3 == 0) {
        run_program(own, depth - 1, folded, expected);
        continue;
      }
      const auto event = static_cast<std::uint32_t>(own() % 3);
      folded.append(event);
      expected.push_back(event);
    }
  }
}

TEST(Fold, LosesNothing) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Folded folded;
    Sequence_ expected;
    for (int part = 0; part < 8; ++part) run_program(random, 4, folded, expected);
    ASSERT_EQ(folded.expanded(), expected) << seed;
    ASSERT_EQ(folded.total().calls, expected.size()) << seed;
    ASSERT_EQ(folded.total().gap, expected.size()) << seed;
  }
}

TEST(Fold, SaysThatThereIsNoRoom) {
  Folded folded(4);
  for (std::uint32_t event = 0; event < 4; ++event) EXPECT_TRUE(folded.append(event));
  EXPECT_FALSE(folded.append(9));
  EXPECT_EQ(folded.expanded(), (Sequence_{0, 1, 2, 3}));
}

TEST(Slots, GivesTheSmallestThatIsFree) {
  const auto slots = std::make_unique<Slots>();
  EXPECT_EQ(slots->take(100), 0);
  EXPECT_EQ(slots->take(200), 1);
  EXPECT_EQ(slots->take(300), 2);
  slots->release(slots->find(200));
  EXPECT_EQ(slots->find(200), Slots::none);
  EXPECT_EQ(slots->take(400), 1);
  EXPECT_EQ(slots->find(300), 2);
}

TEST(Slots, SeveralHaveOneHandle) {
  const auto slots = std::make_unique<Slots>();
  for (int i = 0; i < 3; ++i) slots->take(7);
  int sum = 0;
  for (int i = 0; i < 3; ++i) {
    const int slot = slots->find(7);
    slots->mark(slot);
    sum += slot;
  }
  EXPECT_EQ(sum, 0 + 1 + 2);
  EXPECT_EQ(slots->find(7), Slots::none);
  slots->unmark_all();
  EXPECT_NE(slots->find(7), Slots::none);
}

TEST(ListTable, HasEachListOnce) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  std::vector<std::int64_t> memory(4096);
  std::uint64_t entry_count = 0;
  std::uint64_t number_count = 0;
  Section<ListTable::Entry> entries;
  Section<std::int64_t> numbers;
  auto* bytes = reinterpret_cast<std::byte*>(memory.data());
  entries.start(fileno(file), bytes, 0, 3, &entry_count);
  numbers.start(fileno(file), bytes, 4096, 8, &number_count);
  ListTable table;
  ASSERT_TRUE(table.start(&entries, &numbers));
  const std::vector<std::int64_t> list{3, -1, 4};
  EXPECT_EQ(table.find_or_add(5, list.data(), 3), 0U);
  EXPECT_EQ(table.find_or_add(6, list.data(), 3), 1U) << "another kind";
  EXPECT_EQ(table.find_or_add(5, list.data(), 3), 0U);
  EXPECT_EQ(table.find_or_add(5, list.data(), 0), 2U);
  EXPECT_EQ(table.find_or_add(5, list.data(), 2), ListTable::no_room);
  EXPECT_EQ(table.find_or_add(5, list.data(), 0), 2U);
  std::fclose(file);
}

}  // namespace
}  // namespace commlens::profile

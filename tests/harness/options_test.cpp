#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/refusal.hpp"
#include "harness/benchmark.hpp"

namespace commlens {
namespace {

enum class Layout { tall, wide, round };
ENUM_NAMES(Layout, {tall, "tall"}, {wide, "wide"}, {round, "round"});

/// "name=value role", in order.
std::string text_of(const measure::Parameters& parameters) {
  std::string text;
  for (const auto& [name, value, role, unit] : parameters) {
    text += name + "=" + measure::text_of(value) + unit + " " + std::string(commlens::name(role)) + "; ";
  }
  return text;
}

TEST(OptionSet, KnowsDefaultsParametersAndTheSweep) {
  std::size_t count = 3;
  bool in_place = true;
  std::optional<device::Memory> from;
  auto type = DataType::f64;
  Sizes bytes(1, 4);
  OptionSet set;
  set.add("count", count, "").role(measure::Role::derived);
  set.add_flag("in-place", "out-of-place", in_place, "");
  set.add("from", from, "");
  set.add("dtype", type, "");
  set.add("bytes", bytes, "");

  EXPECT_EQ(set.sweep(), &bytes);
  EXPECT_TRUE(set.sweeps_bytes());
  EXPECT_EQ(text_of(set.parameters()), "count=3 derived; in_place=true setting; dtype=f64 setting; bytes=1B size; ")
      << "an optional that is not set is left out";
  EXPECT_EQ(set.declarations().size(), 5U) << "but declared";
  EXPECT_EQ(set.declarations()[1].option, "in-place");

  set.options()[1].parse("out-of-place");
  EXPECT_FALSE(in_place);
  set.options()[2].parse("managed");
  EXPECT_EQ(from, device::Memory::managed);
  EXPECT_EQ(refusal([&] { set.options()[2].parse("gpu"); }), "--from gpu: write host or pinned or device or managed");
  EXPECT_NE(refusal([&] { set.options()[3].parse("f24"); }).find("i32 or i64 or f16"), std::string::npos);
  EXPECT_THROW(set.add("more", bytes, ""), std::logic_error) << "a second sweep";
}

TEST(OptionSet, LeavesASweepWithoutValuesOut) {
  Sweep edge;
  OptionSet set;
  set.add("edge", edge, "");
  EXPECT_TRUE(set.parameters().empty());
  EXPECT_EQ(set.options()[0].text(), "none");
  set.options()[0].parse("4:16");
  EXPECT_EQ(text_of(set.parameters()), "edge=4 size; ");
  EXPECT_EQ(set.options()[0].text(), "4 ... 16 (3 sizes)");
  EXPECT_EQ(refusal([&] { set.options()[0].parse("4,8,2:4"); }),
            "--edge 4,8,2:4: 4 is in it twice; leave one of them out");
}

TEST(OptionSet, NamesTheOptionThatSetsTheSize) {
  std::size_t vectors = 3;
  Sweep block;
  OptionSet set;
  set.add("block", block, "");
  EXPECT_EQ(set.size(), nullptr);
  block.values = {8};
  EXPECT_EQ(set.size()->name(), "block");
  set.add("vectors", vectors, "").sets_the_size();
  EXPECT_EQ(set.size()->name(), "vectors") << "before a sweep";
}

TEST(Enumerations, TakeTheirWordsAndRefuseOthersWithAll) {
  OptionSet options;
  auto layout = Layout::tall;
  auto& option = options.add("layout", layout, "help");
  EXPECT_EQ(option.help(), "help (tall, wide, round)");
  EXPECT_EQ(option.text(), "tall");
  option.parse("wide");
  EXPECT_EQ(layout, Layout::wide);
  EXPECT_EQ(text_of(options.parameters()), "layout=wide setting; ");
  EXPECT_EQ(refusal([&] { option.parse("square"); }), "--layout square: write tall or wide or round");
  EXPECT_EQ(refusal([&] { option.parse(""); }), "--layout '': write tall or wide or round");
}

TEST(Choices, AreVariantsWhereThereAreSeveral) {
  OptionSet options;
  Choices<Layout> layout;
  const auto& option = options.add("layout", layout, "all", "help");
  EXPECT_EQ(option.text(), "all");
  EXPECT_EQ(options.choices(), 3U);
  EXPECT_EQ(text_of(options.parameters()), "layout=tall variant; ");
  EXPECT_THROW((void)layout.value(), std::logic_error) << "a start has several, a case has one";
  option.parse("round");
  EXPECT_EQ(layout, Layout::round);
  EXPECT_EQ(options.choices(), 1U);
  EXPECT_EQ(text_of(options.parameters()), "layout=round setting; ");
  option.parse("all");
  options.choose(1);
  EXPECT_EQ(layout, Layout::wide);
  EXPECT_EQ(refusal([&] { option.parse("both"); }), "--layout both: write tall or wide or round or all");
}

TEST(Timeline, IsNoParameterOfTheRecord) {
  OptionSet options;
  std::string file;
  EXPECT_EQ(options.timeline(), "") << "a benchmark without a timeline has no such option";
  auto& option = options.add_timeline(file);
  option.parse("timeline.json");
  EXPECT_EQ(options.timeline(), "timeline.json");
  EXPECT_TRUE(options.parameters().empty());
  EXPECT_TRUE(options.declarations().empty());
  EXPECT_EQ(refusal([&] { option.parse(""); }), "--timeline '': name a file");
}

// ---- a benchmark's cases ----

struct ExampleOptions {
  Sizes bytes{8, 32};
  Choices<Layout> layout;
  std::size_t pairs = 0;

  void describe(OptionSet& options) {
    options.add("bytes", bytes, "sizes");
    options.add("layout", layout, "all", "layouts");
    auto& chosen = options.add("pairs", pairs, "pairs");
    if (!given) chosen.role(measure::Role::derived);
  }
  void resolve(int ranks) {
    given = pairs > 0;
    if (!given) pairs = static_cast<std::size_t>(ranks) / 2;
  }

  bool given = true;
};

void example(Run& /*run*/, const ExampleOptions& /*options*/) {}

std::unique_ptr<Benchmark> example_benchmark() {
  const BenchmarkDescription description{.name = "example",
                                         .help = "nothing",
                                         .maker = [](const BenchmarkDescription& given) -> std::unique_ptr<Benchmark> {
                                           return std::make_unique<BenchmarkOf<ExampleOptions>>(given, example);
                                         },
                                         .metrics = {measure::time_us}};
  return description.make();
}

TEST(Cases, AreOnePerSizeAndChoice) {
  const auto benchmark = example_benchmark();
  benchmark->resolve(6);
  const auto groups = benchmark->cases();
  ASSERT_EQ(groups.size(), 3U) << "8, 16, 32";
  ASSERT_EQ(groups[1].size(), 3U) << "tall, wide, round";
  EXPECT_EQ(text_of(groups[1][2]->parameters()), "bytes=16B size; layout=round variant; pairs=3 derived; ");
  EXPECT_EQ(text_of(groups[2][0]->parameters()), "bytes=32B size; layout=tall variant; pairs=3 derived; ");
}

TEST(Cases, KeepTheRolesThatTheStartDeclares) {
  const auto benchmark = example_benchmark();
  benchmark->options().options()[1].parse("wide");
  benchmark->options().options()[2].parse("2");
  benchmark->resolve(6);
  const auto declaration = benchmark->declaration();
  EXPECT_EQ(declaration.parameters[1].role, measure::Role::setting) << "one layout is nothing to compare";
  EXPECT_EQ(declaration.parameters[2].role, measure::Role::setting) << "given by the user";
  EXPECT_EQ(text_of(benchmark->cases()[0][0]->parameters()), "bytes=8B size; layout=wide setting; pairs=2 setting; ");
}

TEST(Cases, NeedTwoBuffersOfTheirSizeUnlessTheySayOtherwise) {
  const auto benchmark = example_benchmark();
  benchmark->resolve(2);
  const MemoryEstimate estimate = benchmark->cases()[2][0]->memory_estimate(0, 2);
  EXPECT_EQ(estimate.buffers, 64);
  EXPECT_EQ(estimate.operation, 64);
  EXPECT_EQ(estimate.staging, 0);
}

TEST(Memory, OfTheHostHasToHoldBuffersAndStaging) {
  const MemoryEstimate estimate{.buffers = 60, .staging = 20, .operation = 20};
  EXPECT_TRUE((MemoryBudget{.buffers = 100, .host = 100}.fits(estimate)));
  EXPECT_FALSE((MemoryBudget{.buffers = 100, .host = 99}.fits(estimate)));
  EXPECT_TRUE((MemoryBudget{.buffers = 60, .host = 40, .on_gpu = true}.fits(estimate)));
  EXPECT_FALSE((MemoryBudget{.buffers = 59, .host = 100, .on_gpu = true}.fits(estimate)));
  EXPECT_FALSE((MemoryBudget{.buffers = 100, .host = 39, .on_gpu = true}.fits(estimate)));
}

TEST(Memory, IsRefusedInOneSentence) {
  const MemoryEstimate estimate{.buffers = 3.0 * (1 << 20), .staging = 1 << 20};
  EXPECT_EQ(refusal([&] { refuse_for_memory("grid", "9", estimate, {.host = 1 << 20}, "ask for less"); }),
            "--grid 9: needs 4 MiB of host memory on each rank, where 1 MiB are free; ask for less");
  EXPECT_EQ(
      refusal([&] { refuse_for_memory("grid", "9", estimate, {.buffers = 2048, .host = 1024, .on_gpu = true}, "no"); }),
      "--grid 9: needs 3 MiB of GPU memory and 1 MiB of host memory on each rank, where 2 KiB and 1 KiB "
      "are free; no");
}

}  // namespace
}  // namespace commlens

#include "harness/options.hpp"

#include <gtest/gtest.h>

#include "harness/usage_error.hpp"

namespace commlens {
namespace {

std::string refusal(const std::function<void()>& attempt) {
  try {
    attempt();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Sizes, TakeSuffixesAndExponents) {
  EXPECT_EQ(parse_size("bytes", "1"), 1U);
  EXPECT_EQ(parse_size("bytes", "8K"), 8192U);
  EXPECT_EQ(parse_size("bytes", "3m"), 3U << 20);
  EXPECT_EQ(parse_size("bytes", "1.5G"), 3U << 29);
  EXPECT_EQ(parse_size("count", "1e7"), 10'000'000U);
  EXPECT_EQ(parse_size("bytes", "2147483649"), 2'147'483'649U);
}

TEST(Sizes, RefuseWhatIsNoSizeAndNameTheOption) {
  for (const char* text :
       {"0", "-1", "-8K", "1.5", "", "K", "8KB", "8Ki", "eight", "0x10", "1e30", "inf", "nan", "1 "}) {
    const std::string message = refusal([&] { (void)parse_size("bytes", text); });
    EXPECT_EQ(message.rfind("--bytes", 0), 0U) << text << " gave: " << message;
    EXPECT_NE(message.find("such as 4096"), std::string::npos) << text << " gave: " << message;
  }
}

TEST(Sweeps, RangesStepsAndLists) {
  EXPECT_EQ(parse_sizes("bytes", "8:64"), (std::vector<std::size_t>{8, 16, 32, 64}));
  EXPECT_EQ(parse_sizes("bytes", "8:100"), (std::vector<std::size_t>{8, 16, 32, 64}));
  EXPECT_EQ(parse_sizes("bytes", "1:1K:x32"), (std::vector<std::size_t>{1, 32, 1024}));
  EXPECT_EQ(parse_sizes("bytes", "3,5:20,7"), (std::vector<std::size_t>{3, 5, 10, 20, 7}));
  EXPECT_EQ(parse_sizes("bytes", "4:4"), (std::vector<std::size_t>{4}));
  EXPECT_EQ(parse_sizes("bytes", "1152921504606846976:1152921504606846976").size(), 1U) << "2^60 must not overflow";
}

TEST(Sweeps, RefuseWhatCannotBeMeant) {
  EXPECT_EQ(refusal([] { (void)parse_sizes("bytes", "8:4"); }),
            "--bytes 8:4: the first size is larger than the last; write 4:8");
  for (const char* text : {"8:", ":8", "1:8:2", "1:8:x1", "1:8:x", "1:8:x2:3", "8,", ",8", "1,,2"}) {
    EXPECT_EQ(refusal([&] { (void)parse_sizes("bytes", text); }).rfind("--bytes", 0), 0U) << text;
  }
}

TEST(OptionSet, KnowsDefaultsParametersAndTheSweep) {
  std::size_t count = 3;
  bool in_place = true;
  std::optional<device::Memory> from;
  auto type = DataType::f64;
  Sweep bytes(1, 4);
  OptionSet set;
  set.add("count", count, "");
  set.add_flag("in-place", "out-of-place", in_place, "");
  set.add("from", from, "");
  set.add("dtype", type, "");
  set.add("bytes", bytes, "");

  EXPECT_EQ(set.sweep(), &bytes);
  bytes.current = 2;
  const measure::Parameters expected{
      {"count", std::int64_t{3}}, {"in_place", true}, {"dtype", std::string("f64")}, {"bytes", std::int64_t{2}}};
  EXPECT_EQ(set.parameters(), expected) << "an optional that is not set is left out";

  set.options()[1].parse("out-of-place");
  EXPECT_FALSE(in_place);
  set.options()[2].parse("managed");
  EXPECT_EQ(from, device::Memory::managed);
  EXPECT_NE(refusal([&] { set.options()[2].parse("gpu"); }).find("--from gpu"), std::string::npos);
  EXPECT_NE(refusal([&] { set.options()[3].parse("f16"); }).find("i32, f32"), std::string::npos);
  EXPECT_THROW(set.add("more", bytes, ""), std::logic_error) << "a second sweep";
}

TEST(OptionSet, LeavesASweepWithoutValuesOut) {
  Sweep edge;
  OptionSet set;
  set.add("edge", edge, "");
  EXPECT_TRUE(set.parameters().empty());
  EXPECT_EQ(set.options()[0].text(), "none");
  set.options()[0].parse("4:16");
  EXPECT_EQ(set.parameters(), (measure::Parameters{{"edge", std::int64_t{4}}}));
  EXPECT_EQ(set.options()[0].text(), "4 … 16 (3 sizes)");
}

TEST(Choices, TakeTheirWordsAndRefuseOthersWithAll) {
  OptionSet options;
  std::string layout = "tall";
  auto& option = options.add_choice("layout", layout, {"tall", "wide"}, "help");
  EXPECT_EQ(option.text(), "tall");
  option.parse("wide");
  EXPECT_EQ(layout, "wide");
  EXPECT_EQ(std::get<std::string>(options.parameters().at(0).second), "wide");
  EXPECT_EQ(refusal([&] { option.parse("round"); }), "--layout round: write tall or wide");
  EXPECT_EQ(refusal([&] { option.parse(""); }), "--layout '': write tall or wide");
}

TEST(Trace, IsNoParameterOfTheRecord) {
  OptionSet options;
  std::string file;
  EXPECT_EQ(options.trace(), "") << "a benchmark without a timeline has no such option";
  auto& option = options.add_trace(file);
  option.parse("trace.json");
  EXPECT_EQ(options.trace(), "trace.json");
  EXPECT_TRUE(options.parameters().empty());
  EXPECT_EQ(refusal([&] { option.parse(""); }), "--trace '': name a file");
}

}  // namespace
}  // namespace commlens

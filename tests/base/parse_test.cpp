#include "base/parse.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/refusal.hpp"

namespace commlens {
namespace {

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

TEST(Counts, MayBeZeroAndSaySo) {
  EXPECT_EQ(parse_count("warmup", "0"), 0U);
  EXPECT_EQ(parse_count("root", "2K"), 2048U);
  EXPECT_NE(refusal([] { (void)parse_count("root", "-1"); }).find("at least 0"), std::string::npos);
}

TEST(Refusals, ShowBlanks) {
  EXPECT_EQ(refusal([] { throw UsageError("memory", " ", "no such memory"); }), "--memory ' ': no such memory");
  EXPECT_EQ(refusal([] { throw UsageError("memory", "", "no such memory"); }), "--memory '': no such memory");
  EXPECT_EQ(refusal([] { throw UsageError("memory", "tape", "no such memory"); }), "--memory tape: no such memory");
}

TEST(Sweeps, RangesStepsAndLists) {
  EXPECT_EQ(parse_sizes("bytes", "8:64"), (std::vector<std::size_t>{8, 16, 32, 64}));
  EXPECT_EQ(parse_sizes("bytes", "8:100"), (std::vector<std::size_t>{8, 16, 32, 64, 100})) << "ends with the last";
  EXPECT_EQ(parse_sizes("bytes", "1:4M:x1K"), (std::vector<std::size_t>{1, 1_KiB, 1_MiB, 4_MiB}));
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
  EXPECT_EQ(refusal([] { (void)parse_sizes("bytes", "8,,16"); }),
            "--bytes 8,,16: a size is missing before or after a comma");
  EXPECT_EQ(refusal([] { (void)parse_size("batches", "1e17", 1000); }), "--batches 1e17: write at most 1000");
  const std::string message = refusal([] { (void)parse_size("bytes", std::string(5000, 'x')); });
  EXPECT_LT(message.size(), 700U) << "it need not repeat all";
}

TEST(Numbers, AreWithinTheirRange) {
  EXPECT_EQ(parse_number("eps", "0.3", {.least = 0, .most = 1}), 0.3);
  EXPECT_EQ(parse_percent("until-ci", "2%", {}), 2);
  EXPECT_EQ(parse_percent("until-ci", "2", {}), 2);
  for (const char* text : {"", "x", "nan", "-1", "1e10", "2%", "1 "}) {
    EXPECT_EQ(refusal([&] { (void)parse_number("min-time", text, {}); }).rfind("--min-time ", 0), 0U) << text;
  }
  EXPECT_EQ(refusal([] { (void)parse_number("min-time", "", {}); }),
            "--min-time '': write a number from 0 to 1000000000");
  EXPECT_EQ(refusal([] { (void)parse_number("min-time", "1e10", {}); }),
            "--min-time 1e10: write a number from 0 to 1000000000");
  EXPECT_EQ(refusal([] { (void)parse_number("eps", "2", {.least = 0, .most = 1, .fix = "write less"}); }),
            "--eps 2: write less");
}

TEST(Boxes, AreCubesOrThreeNumbers) {
  EXPECT_EQ(parse_box("grid", "125", "points"), (Box{125, 125, 125}));
  EXPECT_EQ(parse_box("grid", "4x3x2", "points"), (Box{4, 3, 2}));
  EXPECT_EQ(parse_box("grid", "4,3,2", "points"), (Box{4, 3, 2}));
  for (const char* text : {"4,3", "1:8", "4,3,2,1", "2M", "", "0,1,1"}) {
    EXPECT_EQ(refusal([&] { (void)parse_box("grid", text, "points"); }).rfind("--grid ", 0), 0U) << text;
  }
  EXPECT_EQ(box_text({4, 3, 2}), "4x3x2");
}

}  // namespace
}  // namespace commlens

#include "measure/reporters/text.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "measure/examples.hpp"
#include "measure/format.hpp"

namespace commlens::measure {
namespace {

TEST(FormatBytes, IsExactWhereAUnitDivides) {
  EXPECT_EQ(format_bytes(std::int64_t{0}), "0 B");
  EXPECT_EQ(format_bytes(std::int64_t{1}), "1 B");
  EXPECT_EQ(format_bytes(std::int64_t{999}), "999 B");
  EXPECT_EQ(format_bytes(std::int64_t{1000}), "1 kB");
  EXPECT_EQ(format_bytes(std::int64_t{1024}), "1 KiB");
  EXPECT_EQ(format_bytes(std::int64_t{8192}), "8 KiB");
  EXPECT_EQ(format_bytes(std::int64_t{3} << 20), "3 MiB");
  EXPECT_EQ(format_bytes(std::int64_t{80'000'000}), "80 MB");
  EXPECT_EQ(format_bytes(std::int64_t{1} << 30), "1 GiB");
  EXPECT_EQ(format_bytes(std::int64_t{1024} << 40), "1 PiB");
}

TEST(FormatBytes, IsRoundedWhereNoUnitDivides) {
  EXPECT_EQ(format_bytes(std::int64_t{1025}), "1.00 KiB");
  EXPECT_EQ(format_bytes(std::int64_t{80'000'008}), "76.3 MiB");
  EXPECT_EQ(format_bytes(std::int64_t{123'456'789}), "118 MiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::int64_t>::max()), "8.00 EiB");
}

TEST(FormatBytes, RoundsAnEstimate) {
  EXPECT_EQ(format_bytes(0.0), "0 B");
  EXPECT_EQ(format_bytes(1536.0), "1.50 KiB");
  EXPECT_EQ(format_bytes(5.3 * 1073741824), "5.30 GiB");
}

TEST(FormatFraction, IsAFactorBelowOnePercent) {
  EXPECT_EQ(format_fraction(0.631), "63.1%");
  EXPECT_EQ(format_fraction(0.01), "1.00%");
  EXPECT_EQ(format_fraction(0.004), "1/250");
  EXPECT_EQ(format_fraction(0), "0.00%");
}

TEST(OnOneLine, JoinsLines) {
  EXPECT_EQ(on_one_line("a\nb\r\nc\n"), "a; b; c");
  EXPECT_EQ(on_one_line("\n"), "");
  EXPECT_EQ(on_one_line(""), "");
}

TEST(MemorySides, AreTheSameUnlessBothAreNamed) {
  EXPECT_EQ(memory_sides("device"), std::pair(std::string("device"), std::string("device")));
  EXPECT_EQ(memory_sides("device:host"), std::pair(std::string("device"), std::string("host")));
}

TEST(SettingsOf, LeavesOutTheSize) {
  EXPECT_EQ(settings_of(examples::allreduce(8, "mpi", "host", 1)), "dtype=f64, in_place=true");
  EXPECT_EQ(settings_of(examples::latency(8, "mpi", "host", 1)), "");
}

TEST(Complaint, SaysThatThereIsNoReason) {
  EXPECT_EQ(complaint({Status::failed, "", false}), "failed: no reason given");
  EXPECT_EQ(complaint({Status::skipped, "no\nGPU", false}), "skipped: no; GPU");
}

}  // namespace
}  // namespace commlens::measure

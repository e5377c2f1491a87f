// What other programs take from the job, from texts and trees like /proc.
#include "harness/interference.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace commlens {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
namespace fs = std::filesystem;

const std::string proc_stat =
    "cpu  900 0 100 5000 10 5 5 40 0 0\n"
    "cpu0 400 10 50 2500 5 3 2 30 77 0\n"
    "cpu1 500 0 50 2500 5 2 3 10 0 0\n"
    "cpu12 7 0 0 0 0 0 0 0 0 0\n"
    "intr 12345 6 7\n";

std::optional<CoreTimes> times_of(const std::string& text, const std::vector<int>& cores) {
  std::istringstream stream(text);
  return core_times(stream, cores, 100);
}

TEST(CoreTimes, AreOfTheCoresThatAreAskedForAndLeaveOutIdling) {
  const auto first = times_of(proc_stat, {0});
  ASSERT_TRUE(first);
  EXPECT_DOUBLE_EQ(first->busy_s, 4.65) << "guests are part of user: they do not count twice";
  EXPECT_DOUBLE_EQ(first->stolen_s, 0.3);
  const auto two = times_of(proc_stat, {1, 12});
  ASSERT_TRUE(two);
  EXPECT_DOUBLE_EQ(two->busy_s, 5.62);
}

TEST(CoreTimes, AreUnknownWhereACoreIsMissing) {
  EXPECT_FALSE(times_of(proc_stat, {0, 5}));
  EXPECT_FALSE(times_of("", {0}));
  EXPECT_FALSE(times_of("nonsense\n", {0}));
  EXPECT_FALSE(times_of(proc_stat, {}));
}

std::string process_line(const std::string& name, int user, int system, int core) {
  std::string text = "42 (" + name + ") R 1 2 3 4 5 6 7 8 9 10 " + std::to_string(user) + " " + std::to_string(system);
  for (int field = 16; field < 39; ++field) text += " 0";
  return text + " " + std::to_string(core) + " 0 0";
}

TEST(ProcessTime, NamesMayHaveSpacesAndParentheses) {
  const auto time = process_time(process_line("a) b (c", 150, 50, 3), 100);
  ASSERT_TRUE(time);
  EXPECT_EQ(time->name, "a) b (c");
  EXPECT_DOUBLE_EQ(time->used_s, 2);
  EXPECT_EQ(time->core, 3);
}

TEST(ProcessTime, NoByteReachesTheTerminalAsACommand) {
  EXPECT_EQ(process_time(process_line("\x1b[2Jx\n", 1, 1, 0), 100)->name, "[2Jx");
}

/// Its 22nd field after the state is a limit of memory: 2^64 - 1 where there is none.
TEST(ProcessTime, HasFieldsBehindALimitThatNoSignedNumberHolds) {
  std::string text = "42 (x) R";
  for (int field = 1; field <= 40; ++field) {
    text += field == 22 ? " 18446744073709551615" : field == 5 ? " -1" : " " + std::to_string(field);
  }
  const auto time = process_time(text, 1);
  ASSERT_TRUE(time);
  EXPECT_DOUBLE_EQ(time->used_s, 11 + 12);
  EXPECT_EQ(time->core, 36);
}

TEST(ProcessTime, IsUnknownWhereTheTextIsCutShort) {
  for (const std::string text : {"", "42", "42 (x", "42 )(", "42 (x) R 1 2 3"}) EXPECT_FALSE(process_time(text, 100));
}

TEST(Waited, IsTheSecondNumber) {
  EXPECT_DOUBLE_EQ(waited_s("100 2500000000 7\n").value_or(-1), 2.5);
  EXPECT_FALSE(waited_s(""));
  EXPECT_FALSE(waited_s("0"));
}

TEST(ReadingBudget, KeepsReadingsToOneTwoThousandthOfTheTime) {
  ReadingBudget budget;
  const ReadingBudget::Clock::time_point start{seconds(100)};
  EXPECT_TRUE(budget.allows(start)) << "the first";
  budget.spent(start + milliseconds(2), milliseconds(2));
  EXPECT_FALSE(budget.allows(start + milliseconds(3900)));
  EXPECT_TRUE(budget.allows(start + milliseconds(4003)));
}

/// A /proc of the test's own with two cores.
class Node : public testing::Test {
 protected:
  Node() { fs::create_directories(proc_); }
  ~Node() override { fs::remove_all(proc_); }

  void cores(int busy0, int busy1, int stolen = 0) {
    std::ofstream(proc_ / "stat") << "cpu 0\ncpu0 " << busy0 << " 0 0 0 0 0 0 " << stolen << "\ncpu1 " << busy1
                                  << " 0 0 0 0 0 0 0\n";
  }
  void process(int number, const std::string& name, int ticks, int core = 0) {
    fs::create_directories(proc_ / std::to_string(number));
    std::ofstream(proc_ / std::to_string(number) / "stat") << process_line(name, ticks, 0, core);
  }
  void process_that_ends(int number) {
    fs::create_directories(proc_ / std::to_string(number));
    fs::create_symlink("/proc/self/mem", proc_ / std::to_string(number) / "stat");
  }
  [[nodiscard]] NodeWatch watch() const { return {{0, 1}, {7}, "node1", proc_}; }

  /// Far apart: what a reading takes is then far below a thousandth.
  static ReadingBudget::Clock::time_point at(int hours) {
    return ReadingBudget::Clock::now() + std::chrono::hours(hours);
  }
  static constexpr int hour = 360'000;  ///< in ticks

 private:
  fs::path proc_ = fs::temp_directory_path() / ("interference-" + std::to_string(getpid()));
};

TEST_F(Node, WhatTheJobUsedIsNotInterference) {
  auto node = watch();
  cores(0, 0);
  EXPECT_FALSE(node.read(0, at(0)).busy_cores) << "there is nothing yet to compare with";
  cores(hour, hour);
  const auto quiet = node.read(2 * 3600.0, at(1));
  EXPECT_EQ(quiet.busy_cores, 0);
  EXPECT_EQ(quiet.cores, 2);
  EXPECT_NEAR(quiet.seconds, 3600, 10);
  cores(2 * hour, 2 * hour);
  EXPECT_NEAR(node.read(3 * 3600.0, at(2)).busy_cores.value_or(-1), 1, 0.01);
}

TEST_F(Node, LessThanATickOnEachCoreIsNothingAndNeverBelowNothing) {
  auto node = watch();
  cores(0, 0);
  node.read(0, at(0));
  cores(1, 1);
  EXPECT_EQ(node.read(0, at(1)).busy_cores, 0);
  EXPECT_EQ(node.read(9000, at(2)).busy_cores, 0) << "the kernel may count the job's time late";
}

TEST_F(Node, StolenTimeIsKnown) {
  auto node = watch();
  cores(0, 0, 0);
  node.read(0, at(0));
  cores(0, 0, hour / 4);
  EXPECT_NEAR(node.read(0, at(1)).stolen_cores.value_or(-1), 0.25, 0.01);
}

TEST_F(Node, NamesThoseThatUsedMostButNotTheJob) {
  auto node = watch();
  cores(0, 0);
  process(7, "rank", 0);
  process(100, "compiler", 0);
  process(101, "editor", 500);
  process(102, "elsewhere", 0, 9);
  process(105, "moved here", hour, 9);
  node.read(0, at(0));
  cores(2 * hour, 0);
  process(7, "rank", hour);
  process(100, "compiler", hour / 4);
  process(104, "compiler", hour / 4);
  process(101, "editor", 510);
  process(102, "elsewhere", hour, 9);
  process(105, "moved here", hour, 1);
  process(103, "new", hour / 4, 1);
  const auto busy = node.read(0, at(1));
  ASSERT_EQ(busy.programs.size(), 2U);
  EXPECT_EQ(busy.programs[0].name, "compiler");
  EXPECT_EQ(busy.programs[0].host, "node1");
  EXPECT_NEAR(busy.programs[0].cores, 0.5, 0.01);
  EXPECT_EQ(busy.programs[1].name, "new");
  EXPECT_TRUE(node.read(0, at(2)).programs.empty()) << "nobody is accused while the cores are free";
}

/// The kernel then answers with an error between open() and read(), as it does for a process's memory at address 0.
TEST_F(Node, AProcessThatEndsWhileItIsReadIsLeftOut) {
  auto node = watch();
  cores(0, 0);
  process(100, "compiler", 0);
  process_that_ends(101);
  node.read(0, at(0));
  cores(hour, 0);
  process(100, "compiler", hour);
  const auto busy = node.read(0, at(1));
  ASSERT_EQ(busy.programs.size(), 1U);
  EXPECT_EQ(busy.programs[0].name, "compiler");
}

TEST_F(Node, NothingIsReadTooSoonNorWhereThereIsNothing) {
  auto node = watch();
  EXPECT_FALSE(node.read(0, at(0)).busy_cores) << "no /proc/stat";
  cores(0, 0);
  const auto now = at(0);
  node.read(0, now);
  cores(hour, hour);
  EXPECT_FALSE(node.read(0, now).busy_cores) << "too soon";
}

}  // namespace
}  // namespace commlens

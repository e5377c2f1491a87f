#include "measure/reporters/text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "measure/examples.hpp"

namespace commlens::measure {
namespace {

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

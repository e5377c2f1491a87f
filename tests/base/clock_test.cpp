#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace commlens {
namespace {

TEST(Clock, IsTheStandardLibrarysUnlessMpiIsSimulated) {
  using Standard = std::chrono::steady_clock;
  const auto before = Standard::now().time_since_epoch();
  const auto now = SteadyClock::now().time_since_epoch();
  const double seconds = SteadyClock::seconds();
  const auto after = Standard::now().time_since_epoch();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
  EXPECT_LE(std::chrono::duration<double>(now).count(), seconds);
  EXPECT_LE(seconds, std::chrono::duration<double>(after).count());
}

}  // namespace
}  // namespace commlens

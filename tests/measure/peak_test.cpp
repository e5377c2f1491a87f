// How rounds of rates end, on a clock of the test's own.
#include "measure/peak.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace commlens::measure {
namespace {

using testing::ElementsAre;

/// Rounds of 1 s, or shorter ones, that give these rates, the last ones again and again.
class PeakRates : public testing::Test {
 protected:
  std::vector<double> of(std::vector<std::vector<double>> rates, const PeakLimits& limits = {.most_s = 1000}) {
    const auto round = [&] {
      clock += round_s;
      const std::size_t last = rates.size() - 1;
      return rates[rounds++ < last ? rounds - 1 : last];
    };
    return peak_rates(round, [&] { return clock; }, limits);
  }

  double round_s = 1;
  std::size_t rounds = 0;
  double clock = 50;  // a clock may begin anywhere
};

TEST_F(PeakRates, EndAfterThreeRoundsWithoutARise) {
  EXPECT_THAT(of({{10}}), ElementsAre(10));
  EXPECT_EQ(rounds, 4U);
}

TEST_F(PeakRates, GoOnWhileOneOfThemRises) {
  EXPECT_THAT(of({{10, 1}, {10, 1}, {10, 1}, {10, 2}, {9, 3}}), ElementsAre(10, 3));
  EXPECT_EQ(rounds, 8U);
}

TEST_F(PeakRates, AreTheBestOfEachAndNotTheLast) {
  EXPECT_THAT(of({{10, 5}, {20, 4}, {1, 7}, {1, 1}}), ElementsAre(20, 7));
}

TEST_F(PeakRates, CountARiseOfLessThanAPercentButDoNotGoOnForIt) {
  EXPECT_THAT(of({{100}, {100.5}, {100.9}, {100.8}, {200}}), ElementsAre(100.9));
  EXPECT_EQ(rounds, 4U);
}

TEST_F(PeakRates, EndInTimeThoughTheyRise) {
  EXPECT_THAT(of({{1}, {2}, {4}, {8}, {16}, {32}, {64}}, {.most_s = 3}), ElementsAre(4));
  EXPECT_EQ(rounds, 3U);
}

TEST_F(PeakRates, AreMeasuredForAsLongAsADisturbanceMayLast) {
  EXPECT_THAT(of({{10}, {10}, {10}, {10}, {10}, {40}}, {.least_s = 5.5, .most_s = 1000}), ElementsAre(40));
}

TEST_F(PeakRates, FromIdleOutlastTheTimeInWhichAGpuRaisesItsClocks) {
  round_s = 2e-3;
  std::vector<std::vector<double>> cold(100, {10});
  cold.push_back({40});
  EXPECT_THAT(of(cold, limits_from_idle(true)), ElementsAre(40));
}

TEST_F(PeakRates, AfterACaseAreOfAFewRounds) {
  round_s = 2e-3;
  EXPECT_THAT(of({{10}}, limits_after(5)), ElementsAre(10));
  EXPECT_EQ(rounds, 3U);
}

TEST_F(PeakRates, AfterACaseTakeATenthOfItsTimeAtMost) {
  std::vector<std::vector<double>> rising{{1}};
  while (rising.size() < 100) rising.push_back({2 * rising.back().front()});
  (void)of(rising, limits_after(50));
  EXPECT_EQ(rounds, 5U);
}

}  // namespace
}  // namespace commlens::measure

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

/// Rounds of 1 s that give these rates, the last ones again and again.
class PeakRates : public testing::Test {
 protected:
  std::vector<double> of(std::vector<std::vector<double>> rates, const PeakLimits& limits = {.most_s = 1000}) {
    const auto round = [&] {
      clock += 1;
      const std::size_t last = rates.size() - 1;
      return rates[rounds++ < last ? rounds - 1 : last];
    };
    return peak_rates(round, [&] { return clock; }, limits);
  }

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

}  // namespace
}  // namespace commlens::measure

#include "measure/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure/examples.hpp"

namespace commlens::measure {
namespace {

using examples::infinity;

/// 1, 2 ... n in some other order: each value is its own rank.
std::vector<double> ranks_up_to(std::size_t count) {
  std::vector<double> samples(count);
  std::iota(samples.begin(), samples.end(), 1.0);
  std::shuffle(samples.begin(), samples.end(), std::mt19937(42));
  return samples;
}

struct Ranks {
  std::size_t count;
  double low;
  double high;
};

std::ostream& operator<<(std::ostream& out, const Ranks& ranks) {
  return out << ranks.low << " and " << ranks.high << " of " << ranks.count;
}

class MedianInterval : public testing::TestWithParam<Ranks> {};

// As in tables of the binomial distribution (Hahn and Meeker, Statistical Intervals; Le Boudec, table A.1).
TEST_P(MedianInterval, HasTheRanksOfTheBinomialDistribution) {
  const Statistics statistics = summarize(ranks_up_to(GetParam().count));
  ASSERT_TRUE(statistics.median_interval);
  EXPECT_EQ(statistics.median_interval->low, GetParam().low);
  EXPECT_EQ(statistics.median_interval->high, GetParam().high);
}

INSTANTIATE_TEST_SUITE_P(Samples, MedianInterval,
                         testing::Values(Ranks{6, 1, 6}, Ranks{7, 1, 7}, Ranks{8, 1, 8}, Ranks{9, 2, 8},
                                         Ranks{10, 2, 9}, Ranks{20, 6, 15}, Ranks{50, 18, 33}, Ranks{70, 27, 44},
                                         Ranks{100, 40, 61}),
                         [](const auto& instance) { return std::to_string(instance.param.count); });

/// The coverage of ranks (j, n+1-j), by adding up Pascal's triangle's row from its edge, scaled.
long double coverage(std::size_t count, std::size_t rank) {
  long double term = std::pow(0.5L, static_cast<long double>(count));
  long double tail = 0;
  for (std::size_t successes = 0; successes < rank; ++successes) {
    tail += term;
    term *= static_cast<long double>(count - successes) / static_cast<long double>(successes + 1);
  }
  return 1 - 2 * tail;
}

TEST(MedianIntervalRanks, AreTheNarrowestWithEnoughCoverageForEveryCount) {
  for (std::size_t count = 6; count <= 2000; ++count) {
    const Statistics statistics = summarize(ranks_up_to(count));
    ASSERT_TRUE(statistics.median_interval) << count;
    const auto rank = static_cast<std::size_t>(statistics.median_interval->low);
    EXPECT_EQ(statistics.median_interval->high, static_cast<double>(count + 1 - rank)) << count;
    EXPECT_GE(coverage(count, rank), 0.95L) << count;
    EXPECT_LT(coverage(count, rank + 1), 0.95L) << count;
  }
}

TEST(MedianIntervalRanks, AreThoseOfTheNormalDistributionForManySamples) {
  constexpr std::size_t count = 1'000'000;
  const Statistics statistics = summarize(ranks_up_to(count));
  ASSERT_TRUE(statistics.median_interval);
  EXPECT_NEAR(statistics.median_interval->low, 500'000 - 0.98 * 1000, 2);  // n/2 - 1.96 sqrt(n)/2
}

TEST(MedianIntervalRanks, DoNotExistForFewerThanSixSamples) {
  for (std::size_t count = 1; count < 6; ++count) EXPECT_FALSE(summarize(ranks_up_to(count)).median_interval) << count;
}

TEST(Summarize, GivesOneSampleAsEverything) {
  const Statistics statistics = summarize(std::vector<double>{2.5});
  EXPECT_EQ(statistics.count, 1U);
  EXPECT_FALSE(statistics.median_interval);
  for (const double value :
       {statistics.median, statistics.min, statistics.mean, statistics.p95, statistics.p99, statistics.max}) {
    EXPECT_EQ(value, 2.5);
  }
}

TEST(Summarize, TakesNearestRankPercentiles) {
  const Statistics hundred = summarize(ranks_up_to(100));
  EXPECT_EQ(hundred.p95, 95);
  EXPECT_EQ(hundred.p99, 99);
  const Statistics twenty = summarize(ranks_up_to(20));
  EXPECT_EQ(twenty.p95, 19);
  EXPECT_EQ(twenty.p99, 20);
  const Statistics twenty_one = summarize(ranks_up_to(21));
  EXPECT_EQ(twenty_one.p95, 20);
  EXPECT_EQ(summarize(ranks_up_to(1001)).p99, 991);
}

TEST(Summarize, TakesTheMiddleForTheMedian) {
  EXPECT_EQ(summarize(std::vector<double>{3, 1, 2}).median, 2);
  EXPECT_EQ(summarize(std::vector<double>{4, 1, 3, 2}).median, 2.5);
  const double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(summarize(std::vector<double>{largest, largest}).median, largest);
}

TEST(Summarize, KeepsTheMeanBetweenTheSamples) {
  const Statistics equal = summarize(std::vector<double>(10, 0.1));
  EXPECT_EQ(equal.mean, 0.1);
  EXPECT_EQ(equal.min, 0.1);
  EXPECT_EQ(equal.max, 0.1);
  EXPECT_DOUBLE_EQ(summarize(std::vector<double>{1, 2, 6}).mean, 3);
}

TEST(Summarize, RefusesWhatHasNoOrder) {
  EXPECT_THROW(summarize({}), std::invalid_argument);
  EXPECT_THROW(summarize(std::vector<double>{1, std::nan(""), 2}), std::invalid_argument);
}

TEST(RelativeHalfWidth, IsHalfTheIntervalOverTheMedian) {
  const auto width = relative_half_width(summarize(std::vector<double>{98, 99, 100, 100, 101, 102}));
  ASSERT_TRUE(width);
  EXPECT_DOUBLE_EQ(*width, 0.02);
  EXPECT_EQ(relative_half_width(summarize(std::vector<double>(6, 5.0))), 0);
}

TEST(RelativeHalfWidth, IsInfiniteForAnInfiniteInterval) {
  const auto width = relative_half_width(summarize(std::vector<double>{1, 1, 1, 1, 1, infinity}));
  ASSERT_TRUE(width);
  EXPECT_EQ(*width, infinity);
}

TEST(RelativeHalfWidth, DoesNotExistWithoutAnIntervalOrAtZero) {
  EXPECT_FALSE(relative_half_width(summarize(std::vector<double>{1, 2, 3})));
  EXPECT_FALSE(relative_half_width(summarize(std::vector<double>{-1, -1, 0, 0, 1, 1})));
  EXPECT_FALSE(relative_half_width(summarize(std::vector<double>(6, infinity))));
}

}  // namespace
}  // namespace commlens::measure

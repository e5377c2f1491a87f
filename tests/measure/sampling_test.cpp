// The sampler with a clock, ranks and an operation that the test controls.
#include "measure/sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace commlens::measure {
namespace {

/// This rank and another, which takes `factor` times as long and finds `error`.
class TwoRanks final : public Ranks {
 public:
  double factor = 1;
  std::string error;
  std::size_t barriers = 0;

  [[nodiscard]] int rank() const override { return 0; }
  void barrier() override { ++barriers; }
  void maximum(std::vector<double>& values) override {
    for (double& value : values) value = std::max(value, factor * value);
  }
  void mean(std::vector<double>& values) override {
    for (double& value : values) value = (value + factor * value) / 2;
  }
  std::string first(const std::string& text) override { return text.empty() ? error : text; }
};

/// An operation takes `seconds` on the test's clock, each one `growth` times as long as the one before.
class FakeOperation final : public SampledOperation {
 public:
  double now = 0;
  double seconds = 1;
  double growth = 1;
  double untimed_s = 0;  ///< that preparing and checking take
  std::size_t wrong_in_round = 0;
  std::vector<std::size_t> prepared;  ///< rounds
  std::vector<std::size_t> operated;  ///< operations of each call
  std::vector<std::size_t> checked;   ///< operations of each check
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  std::size_t sampled_operations = 0;
  std::vector<double> in_parts{4};  ///< seconds of an operation in parts, the last again and again

  void prepare(std::size_t round) override {
    prepared.push_back(round);
    now += untimed_s;
  }
  void operate(std::size_t operations) override {
    operated.push_back(operations);
    for (std::size_t i = 0; i < operations; ++i, seconds *= growth) now += seconds;
  }
  Verdict verify(std::size_t round, std::size_t operations) override {
    checked.push_back(operations);
    now += untimed_s;
    return {.elements = 10,
            .error = round == wrong_in_round ? "element 3 is 6, must be 7" : "",
            .deviation = Deviation{.largest = static_cast<double>(round), .total = 1}};
  }
  void operate_part(std::size_t part, std::size_t operations) override {
    parts.emplace_back(part, operations);
    now += 0.1 * static_cast<double>((part + 1) * operations);
  }
  void operate_in_parts() override {
    now += in_parts.front();
    if (in_parts.size() > 1) in_parts.erase(in_parts.begin());
  }
  std::vector<double> seconds_in_parts() override { return {1, 2}; }
  void sampled(std::size_t operations) override { sampled_operations += operations; }
};

class SamplingTest : public testing::Test {
 protected:
  Samples sample() {
    Sampler sampler(operation, sampling, ranks, [this] { return operation.now; });
    sampler.run();
    return sampler.result();
  }

  FakeOperation operation;
  TwoRanks ranks;
  Sampling sampling{.repetition = {.repeat = 5, .warmup = 2, .batches = 3}};
};

TEST_F(SamplingTest, OfBatchesDividesBySoManyOperations) {
  operation.seconds = 2;
  EXPECT_EQ(sample().seconds, (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(operation.operated, (std::vector<std::size_t>{2, 5, 5, 5})) << "the warm-up comes first";
  EXPECT_EQ(operation.sampled_operations, 15U) << "the warm-up is not counted";
}

TEST_F(SamplingTest, OfEachHasASamplePerOperation) {
  sampling.repetition.timing = Timing::each;
  sampling.repetition.batches = 1;
  operation.growth = 2;
  EXPECT_EQ(sample().seconds, (std::vector<double>{4, 8, 16, 32, 64})) << "the warm-up's 1 and 2 are left out";
  EXPECT_EQ(operation.operated, (std::vector<std::size_t>{2, 1, 1, 1, 1, 1}));
}

TEST_F(SamplingTest, StopsTheClockForFillingAndChecking) {
  operation.untimed_s = 100;
  EXPECT_EQ(sample().seconds, (std::vector<double>{1, 1, 1}));
}

TEST_F(SamplingTest, TakesTheLargestOverTheRanks) {
  ranks.factor = 3;
  EXPECT_EQ(sample().seconds, (std::vector<double>{3, 3, 3}));
  ranks.factor = 0.5;
  operation = {};
  EXPECT_EQ(sample().seconds, (std::vector<double>{1, 1, 1}));
}

TEST_F(SamplingTest, WaitsForTheOtherRanksBeforeEveryReadingOfTheClock) {
  sample();
  EXPECT_EQ(ranks.barriers, 4U);
}

TEST_F(SamplingTest, ResetsAfterSoManyOperationsOfABatch) {
  sampling.operations_per_round = 2;
  sampling.repetition.batches = 1;
  EXPECT_EQ(sample().seconds, (std::vector<double>{1}));
  EXPECT_EQ(operation.operated, (std::vector<std::size_t>{2, 2, 2, 1}));
  EXPECT_EQ(operation.prepared, (std::vector<std::size_t>{1, 2, 3, 4})) << "a round each";
}

TEST_F(SamplingTest, NeedsNoWarmUp) {
  sampling.repetition.warmup = 0;
  EXPECT_EQ(sample().seconds.size(), 3U);
  EXPECT_EQ(operation.operated, (std::vector<std::size_t>{5, 5, 5}));
}

TEST_F(SamplingTest, AddsBatchesUntilTheTimeIsMeasured) {
  sampling.repetition.min_time_s = 21;
  EXPECT_EQ(sample().seconds.size(), 5U) << "batches of 5 s: 25 s are the first that are enough";
}

TEST_F(SamplingTest, AddsBatchesUntilTheIntervalIsNarrow) {
  sampling.repetition.until_ci_percent = 5;
  EXPECT_EQ(sample().seconds.size(), 6U) << "with fewer there is no interval";
}

TEST_F(SamplingTest, EndsAtTheTimeLimitAllTheSame) {
  sampling.repetition.until_ci_percent = 1;
  sampling.repetition.max_time_s = 40;
  operation.growth = 1.1;  // never the same twice
  const auto samples = sample().seconds.size();
  EXPECT_GE(samples, 3U) << "those that were asked for";
  EXPECT_LT(samples, 6U);
}

TEST_F(SamplingTest, ATimeLimitThatTheUserHasSetHoldsForAllBatches) {
  sampling.repetition.batches = 1'000'000;
  sampling.repetition.max_time_s = 40;
  sampling.limits_all = true;
  const auto samples = sample().seconds.size();
  EXPECT_GE(samples, 2U);
  EXPECT_LT(samples, 12U) << "batches of 5 s";
  sampling.repetition.max_time_s = 0;
  EXPECT_EQ(sample().seconds.size(), 1U) << "one is taken at least";
}

TEST_F(SamplingTest, TheSlowestRanksTimeCountsForTheLimits) {
  sampling.repetition.min_time_s = 21;
  ranks.factor = 2;
  EXPECT_EQ(sample().seconds.size(), 3U) << "batches of 10 s";
}

TEST_F(SamplingTest, ChecksEveryRound) {
  const Samples samples = sample();
  EXPECT_EQ(operation.checked, (std::vector<std::size_t>{2, 5, 5, 5}));
  EXPECT_EQ(samples.checks, 4U);
  EXPECT_EQ(samples.elements, 40U);
  EXPECT_EQ(samples.deviation->largest, 4) << "of round 4";
  EXPECT_EQ(samples.error, "");
}

TEST_F(SamplingTest, ChecksNothingWhereThatIsNotAskedFor) {
  sampling.validate = false;
  const Samples samples = sample();
  EXPECT_TRUE(operation.checked.empty());
  EXPECT_EQ(samples.checks, 0U);
  EXPECT_FALSE(samples.deviation);
}

TEST_F(SamplingTest, EndsAfterTheBatchWithAWrongResult) {
  operation.wrong_in_round = 3;
  const Samples samples = sample();
  EXPECT_EQ(samples.error, "rank 0, after 5 operations: element 3 is 6, must be 7");
  EXPECT_EQ(samples.seconds.size(), 2U);
}

TEST_F(SamplingTest, SaysWhatWasWrongInTheWarmUpOfLessThanABatch) {
  operation.wrong_in_round = 1;
  sampling.repetition.warmup = 1;
  EXPECT_EQ(sample().error, "rank 0, after 1 operation: element 3 is 6, must be 7");
}

TEST_F(SamplingTest, EndsWhereAnotherRankIsWrong) {
  ranks.error = "rank 1, after 5 operations: nothing came";
  const Samples samples = sample();
  EXPECT_EQ(samples.error, ranks.error);
  EXPECT_EQ(samples.seconds.size(), 1U);
}

TEST_F(SamplingTest, TimesPartsAloneInTurnsWithTheWhole) {
  sampling.parts = {{.name = "a", .stream = "s"}, {.name = "b", .stream = "t"}};
  const Samples samples = sample();
  ASSERT_EQ(samples.parts.size(), 2U);
  ASSERT_EQ(samples.parts[0].samples_s.size(), 3U);
  EXPECT_NEAR(samples.parts[0].samples_s[0], 0.1, 1e-12);
  EXPECT_NEAR(samples.parts[1].samples_s[2], 0.2, 1e-12);
  EXPECT_EQ(operation.parts[0], (std::pair<std::size_t, std::size_t>{0, 5})) << "as often as the whole";
}

TEST_F(SamplingTest, TimesPartsAloneAsTheWholeIsTimed) {
  sampling.parts = {{.name = "a", .stream = "s"}};
  sampling.repetition.timing = Timing::each;
  sampling.repetition.batches = 1;
  EXPECT_NEAR(sample().parts[0].samples_s[0], 0.1, 1e-12);
  EXPECT_EQ(operation.parts.size(), 5U) << "one at a time";
}

TEST_F(SamplingTest, TakesTheMeanOverTheRanksOfPartsWithinTheWhole) {
  ranks.factor = 3;
  sampling.repetition.batches = 1;
  sampling.parts = {{.name = "a", .stream = "s", .within = true}, {.name = "b", .stream = "s", .within = true}};
  const Samples samples = sample();
  EXPECT_EQ(samples.parts[0].samples_s.at(0), 2);
  EXPECT_EQ(samples.parts[1].samples_s.at(0), 4);
  EXPECT_EQ(samples.parts[0].samples_s.size(), 1U) << "an operation of 12 s is long enough";
  EXPECT_EQ(samples.seconds, (std::vector<double>{3})) << "it is none of the samples";
}

TEST_F(SamplingTest, HasNoPartsWithoutSamples) {
  sampling.parts = {{.name = "a", .stream = "s"}};
  operation.wrong_in_round = 1;
  EXPECT_TRUE(sample().parts.empty()) << "it ended before";
}

TEST_F(SamplingTest, OperatesOnceMoreForATimeline) {
  operation.seconds = 4;
  Sampler sampler(operation, sampling, ranks, [this] { return operation.now; });
  sampler.run();
  ranks.factor = 1.05;
  std::vector<double> kept;
  sampler.trace([&](double seconds) { kept.push_back(seconds); });
  EXPECT_EQ(kept, (std::vector<double>{4.2})) << "the largest over the ranks";
  EXPECT_EQ(sampler.result().checks, 5U) << "that is checked too";
}

TEST_F(SamplingTest, KeepsTheTimelineThatIsNearestToTheMedianSample) {
  operation.seconds = 0.01;
  operation.in_parts = {0.1, 0.02, 0.05, 0.013, 0.015, 0.0105, 9};
  Sampler sampler(operation, sampling, ranks, [this] { return operation.now; });
  sampler.run();
  std::vector<double> kept;
  sampler.trace([&](double seconds) { kept.push_back(std::round(1e4 * seconds)); });
  EXPECT_EQ(kept, (std::vector<double>{1000, 200, 130, 105})) << "and ends where one is near";
}

TEST_F(SamplingTest, LooksForTheTimelineForASecondOnly) {
  operation.in_parts = {190, 1};
  Sampler sampler(operation, sampling, ranks, [this] { return operation.now; });
  sampler.run();
  std::vector<double> kept;
  sampler.trace([&](double seconds) { kept.push_back(seconds); });
  EXPECT_EQ(kept, (std::vector<double>{190}));
}

}  // namespace
}  // namespace commlens::measure

// Results of a record: its outcome, metrics, fractions and texts.
#include "measure/result.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "measure/examples.hpp"
#include "measure/reporters/text.hpp"

namespace commlens::measure {
namespace {

TEST(Outcome, IsTheRecordsOwnWhereItsNumbersAreSound) {
  const Record record = examples::latency(8, "mpi", "host", 30e-6);
  const Result result(record);
  EXPECT_EQ(result.outcome().status, Status::ok);
  EXPECT_EQ(result.outcome().reason, "");
  EXPECT_TRUE(result.outcome().measured);
  const Result wrong(examples::wrong(record, "no"));
  EXPECT_EQ(wrong.outcome().status, Status::failed);
  EXPECT_TRUE(wrong.outcome().measured);
  const Result skipped(examples::skipped(record, "why"));
  EXPECT_EQ(skipped.outcome().status, Status::skipped);
  EXPECT_EQ(skipped.outcome().reason, "why");
  EXPECT_FALSE(skipped.outcome().measured);
  EXPECT_EQ(skipped.main(), nullptr);
}

TEST(Result, HasTheMainMetricFirstAndTheTimeOnce) {
  const Result latency(examples::latency(8, "mpi", "host", 30e-6));
  ASSERT_EQ(latency.metrics().size(), 2U);
  EXPECT_EQ(latency.main()->metric.metric.name, "latency_us");
  EXPECT_DOUBLE_EQ(latency.main()->statistics.median, 15);
  EXPECT_EQ(latency.metrics()[1].metric.metric.name, "time_us");
  EXPECT_EQ(Result(examples::allreduce(8, "mpi", "host", 1)).metrics().size(), 4U);
}

TEST(Fractions, AreTheCeilingsTimeOverTheMedianTime) {
  Record record = examples::latency(8, "mpi", "host", 30e-6);
  record.ceilings = {examples::ceiling("memory copy", 3e-6)};
  EXPECT_DOUBLE_EQ(Result(record).fractions().at(0).value(), 0.1);
  EXPECT_DOUBLE_EQ(Result(record).fraction().value(), 0.1);
  record.samples_s.clear();
  EXPECT_FALSE(Result(record).fractions().at(0));
}

TEST(Fractions, OfAPartAreOverThePartsTime) {
  Record record = examples::overlapped("mpi", 1);
  record.ceilings = {examples::ceiling("peer copy", 0.15)};
  record.ceilings[0].part = "reductions";
  EXPECT_DOUBLE_EQ(Result(record).fractions().at(0).value(), 0.5);
  EXPECT_FALSE(Result(record).fraction()) << "a part's ceiling says nothing of the whole";
  record.ceilings[0].part = "no such part";
  EXPECT_FALSE(Result(record).fractions().at(0));
}

TEST(Fractions, TheWholesIsTheNearestOfTheHardwares) {
  Record record = examples::latency(8, "mpi", "host", 10e-6);
  record.ceilings = {examples::ceiling("memory copy", 1e-6), examples::ceiling("peer copy", 4e-6),
                     examples::ceiling("a library's", 8e-6)};
  record.ceilings[2].library = true;
  EXPECT_DOUBLE_EQ(Result(record).fraction().value(), 0.4);
}

TEST(Record, FindsAParameterByItsNameAndByItsRole) {
  const Record record = examples::allreduce(80, "mpi", "host", 1);
  ASSERT_NE(record.parameter("count"), nullptr);
  EXPECT_EQ(std::get<std::int64_t>(*record.parameter("count")), 10);
  EXPECT_EQ(record.parameter("missing"), nullptr);
  EXPECT_EQ(record.parameter_of(Role::size)->name, "bytes");
  EXPECT_EQ(record.parameter_of(Role::variant), nullptr);
}

TEST(IdealSeconds, AreTheTimeOfTheLongestStream) {
  EXPECT_EQ(ideal_seconds({}), 0);
  EXPECT_DOUBLE_EQ(ideal_seconds({{"a", "compute", {3, 1, 2}}}), 2) << "the median";
  EXPECT_DOUBLE_EQ(ideal_seconds({{"a", "compute", {2}}, {"b", "communication", {1.5}}}), 2);
  EXPECT_DOUBLE_EQ(ideal_seconds({{"a", "compute", {2}}, {"b", "communication", {1.5}}, {"c", "communication", {1}}}),
                   2.5)
      << "parts of one stream follow each other";
}

TEST(HiddenCommunication, IsTheShareOfTheShorterStreamsThatIsHidden) {
  const std::vector<Part> parts{{"a", "compute", {4}}, {"b", "communication", {1.5}}, {"c", "communication", {0.5}}};
  const auto hidden = hidden_communication_of(parts);
  ASSERT_TRUE(hidden);
  EXPECT_DOUBLE_EQ(hidden->at(4), 1) << "as long as the longest stream";
  EXPECT_DOUBLE_EQ(hidden->at(6), 0) << "one after the other";
  EXPECT_DOUBLE_EQ(hidden->at(5), 0.5);
  EXPECT_DOUBLE_EQ(hidden->at(7), -0.5) << "slower than one after the other";
  EXPECT_FALSE(hidden_communication_of({{"a", "compute", {4}}})) << "there is nothing to hide";
  EXPECT_FALSE(hidden_communication_of({}));
}

TEST(Metrics, AreTimesOrRatesInTheirUnits) {
  constexpr Metric time_ms{"time_ms", unit::ms, Better::lower, ""};
  constexpr Metric rate_GBps{"rate_GBps", unit::GBps, Better::higher, ""};
  EXPECT_DOUBLE_EQ(time_ms().at(0.25), 250);
  EXPECT_DOUBLE_EQ(time_ms(0.5).at(0.25), 125);
  EXPECT_DOUBLE_EQ(rate_GBps(4e9).at(2), 2);
  EXPECT_TRUE(std::isinf(rate_GBps(1).at(0)));
  EXPECT_DOUBLE_EQ(overlap_efficiency(3).at(4), 0.75);
}

TEST(Labels, AreNamesWithoutTheUnitsEnding) {
  EXPECT_EQ(label_of("bus_bandwidth_GBps", unit::GBps), "bus bandwidth");
  EXPECT_EQ(label_of("throughput_DOF_iter_per_s", unit::DOF_iterations_per_s), "throughput");
  EXPECT_EQ(label_of("overlap_efficiency", unit::none), "overlap efficiency");
  EXPECT_EQ(overlap_efficiency.label(), "overlap efficiency");
  constexpr Metric rank_TFLOPs{"rank_TFLOPs", unit::TFLOPs, Better::higher, "", "rate per rank"};
  EXPECT_EQ(rank_TFLOPs.label(), "rate per rank");
}

TEST(OnOneLine, JoinsLines) {
  EXPECT_EQ(single_line("a\nb\r\nc\n"), "a; b; c");
  EXPECT_EQ(single_line("\n"), "");
  EXPECT_EQ(single_line(""), "");
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

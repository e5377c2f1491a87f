#include "measure/record.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "measure/examples.hpp"

namespace commlens::measure {
namespace {

using Json = nlohmann::json;

constexpr double infinity = std::numeric_limits<double>::infinity();

Json json_of(const Record& record) { return Json::parse(to_json(examples::run_with_gpus(), record)); }

TEST(RecordToJson, IsOneLineInTheOrderOfTheSchema) {
  const std::string line = to_json(examples::run_with_gpus(), examples::latency(8, "mpi", "host", 29e-6));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(line.starts_with(R"({"schema":1,"time":"2025-11-21T20:00:00Z","run":"2025-11-21T20:00:00Z-node01-4242",)"
                               R"("benchmark":"latency","parameters":{"bytes":8},"harness":{"timing":"each",)"))
      << line;
}

TEST(RecordToJson, RoundTripsEverySample) {
  Record record = examples::latency(8, "mpi", "host", 1);
  record.samples_s = {1.0 / 3, 5e-324, 0.1, 1.7976931348623157e308, 29.000000000000004e-6};
  record.figures.clear();  // in microseconds the largest of these is not finite
  record.samples_s[3] = 1.7976931348623157e300;
  EXPECT_EQ(json_of(record)["samples"]["values_s"].get<std::vector<double>>(), record.samples_s);
}

TEST(RecordToJson, KeepsTheTypesAndTheOrderOfParameters) {
  Record record = examples::latency(8, "mpi", "host", 1e-6);
  record.parameters = {
      {"zeta", std::int64_t{9007199254740993}}, {"alpha", true}, {"beta", 0.1}, {"gamma", std::string("a \"b\"\n")}};
  const std::string line = to_json(examples::run_with_gpus(), record);
  EXPECT_NE(line.find(R"("parameters":{"zeta":9007199254740993,"alpha":true,"beta":0.1,"gamma":"a \"b\"\n"})"),
            std::string::npos)
      << line;
}

TEST(RecordToJson, HoldsStatisticsOfEachFigureAndOfTheTime) {
  const Json json = json_of(examples::latency(8, "mpi", "host", 30e-6));
  EXPECT_EQ(json["figures"], Json::parse(R"([{"name": "latency_us", "better": "lower"}])"));
  EXPECT_EQ(json["statistics"].size(), 2U);
  const Json& latency = json["statistics"]["latency_us"];
  EXPECT_EQ(latency["count"], 10);
  EXPECT_DOUBLE_EQ(latency["median"], 15);
  EXPECT_DOUBLE_EQ(latency["ci_low"], 15 * 0.97);
  EXPECT_DOUBLE_EQ(latency["ci_high"], 15 * 1.03);
  EXPECT_EQ(latency["confidence"], 0.95);
  EXPECT_DOUBLE_EQ(json["statistics"]["time_us"]["median"], 30);
}

TEST(RecordToJson, SaysThatAnIntervalIsMissing) {
  Record record = examples::latency(8, "mpi", "host", 30e-6);
  record.samples_s.resize(5);
  const Json latency = json_of(record)["statistics"]["latency_us"];
  EXPECT_TRUE(latency["ci_low"].is_null());
  EXPECT_TRUE(latency["ci_high"].is_null());
}

TEST(RecordToJson, HoldsEachCeilingWithItsFiguresAndTheFraction) {
  Record record = examples::allreduce(80'000'000, "ccl", "device", 400e-6);
  record.ceilings = {examples::ceiling("peer copy", 200e-6), examples::ceiling("memory copy", 40e-6)};
  const Json ceilings = json_of(record)["ceilings"];
  ASSERT_EQ(ceilings.size(), 2U);
  EXPECT_EQ(ceilings[0]["name"], "peer copy");
  EXPECT_DOUBLE_EQ(ceilings[0]["time_us"], 200);
  EXPECT_EQ(ceilings[0]["copy_GBps"], 395.5);
  EXPECT_DOUBLE_EQ(ceilings[0]["figures"]["algorithm_bandwidth_GBps"], 400);
  EXPECT_DOUBLE_EQ(ceilings[0]["figures"]["batch_s"], 0.01);
  EXPECT_DOUBLE_EQ(ceilings[0]["fraction"], 0.5);
  EXPECT_DOUBLE_EQ(ceilings[1]["fraction"], 0.1);
}

TEST(RecordToJson, LeavesOutCeilingsThatWereNotMeasured) {
  Record record = examples::latency(8, "mpi", "host", 30e-6);
  record.ceilings = {examples::ceiling("zero", 0), examples::ceiling("infinite", infinity),
                     examples::ceiling("no rate", 1e-6)};
  record.ceilings[2].copy_GBps = std::nan("");
  EXPECT_TRUE(json_of(record)["ceilings"].empty());
}

TEST(RecordToJson, HasADeviceOnlyWhereARankHasOne) {
  const Record record = examples::latency(8, "mpi", "host", 30e-6);
  EXPECT_EQ(json_of(record)["placement"][1]["device"]["uuid"], "GPU-00000001");
  const Json without = Json::parse(to_json(examples::run_without_gpus(), record));
  EXPECT_FALSE(without["placement"][1].contains("device"));
}

TEST(RecordToJson, HasNoStatisticsOfWhatWasSkipped) {
  Record record = examples::skipped(examples::allreduce(8, "ccl", "host", 1), "ccl needs a GPU");
  record.ceilings = {examples::ceiling("memory copy", 1e-6)};
  const Json json = json_of(record);
  EXPECT_EQ(json["status"], "skipped");
  EXPECT_EQ(json["reason"], "ccl needs a GPU");
  EXPECT_EQ(json["statistics"], Json::object());
  EXPECT_EQ(json["samples"]["values_s"], Json::array());
  EXPECT_EQ(json["ceilings"], Json::array());
  EXPECT_EQ(json["validation"]["status"], "not reached");
  EXPECT_EQ(json["figures"].size(), 4U);
}

TEST(RecordToJson, KeepsTheSamplesOfAWrongResult) {
  const Json json = json_of(examples::wrong(examples::latency(8, "mpi", "host", 30e-6), "element 3 is 6, not 7"));
  EXPECT_EQ(json["status"], "failed");
  EXPECT_EQ(json["validation"]["status"], "failed");
  EXPECT_EQ(json["validation"]["message"], "element 3 is 6, not 7");
  EXPECT_EQ(json["samples"]["values_s"].size(), 10U);
  EXPECT_EQ(json["statistics"].size(), 2U);
}

TEST(RecordToJson, FailsRecordsWhoseSamplesAreNotTimes) {
  for (const double bad : {infinity, -infinity, std::nan(""), -1e-9}) {
    Record record = examples::latency(8, "mpi", "host", 30e-6);
    record.samples_s[4] = bad;
    const Json json = json_of(record);
    EXPECT_EQ(json["status"], "failed");
    EXPECT_TRUE(json["reason"].get<std::string>().starts_with("1 of 10 samples are not times, the first is sample 4:"))
        << json["reason"];
    EXPECT_EQ(json["samples"]["values_s"].size(), 9U);
    EXPECT_EQ(json["statistics"], Json::object());
  }
}

TEST(RecordToJson, FailsRecordsWithAFigureThatIsNotFinite) {
  Record record = examples::bandwidth("bandwidth", 8, "mpi", 1e-6);
  record.samples_s[0] = 0;
  const Json json = json_of(record);
  EXPECT_EQ(json["status"], "failed");
  EXPECT_EQ(json["reason"], "bandwidth_GBps is inf for a sample of 0 s");
  EXPECT_EQ(json["samples"]["values_s"].size(), 10U);
}

TEST(RecordToJson, FailsRecordsThatAreOkWithoutSamples) {
  Record record = examples::latency(8, "mpi", "host", 30e-6);
  record.samples_s.clear();
  EXPECT_EQ(json_of(record)["status"], "failed");
  EXPECT_EQ(json_of(record)["reason"], "nothing was measured");
}

TEST(RecordToJson, AddsTheFaultToTheReasonOfAFailedRecord) {
  Record record = examples::wrong(examples::latency(8, "mpi", "host", 30e-6), "element 3 is 6, not 7");
  record.samples_s = {infinity};
  EXPECT_EQ(json_of(record)["reason"],
            "element 3 is 6, not 7; 1 of 1 samples are not times, the first is sample 0: inf s");
  record.samples_s.clear();
  EXPECT_EQ(json_of(record)["reason"], "element 3 is 6, not 7");
}

// nlohmann/json writes numbers that are not finite as null, so a null is what to look for.
TEST(RecordToJson, NeverHoldsANumberThatIsNotFinite) {
  Record record = examples::allreduce(8, "mpi", "host", 30e-6);
  record.parameters.emplace_back("limit", infinity);
  record.setup_s = std::nan("");
  record.repetition.min_time_s = infinity;
  record.repetition.until_ci_percent = -infinity;
  record.ceilings = {examples::ceiling("memory copy", infinity)};
  const std::string line = to_json(examples::run_with_gpus(), record);
  EXPECT_EQ(line.find("null"), std::string::npos) << line;
  const Json json = Json::parse(line);
  EXPECT_EQ(json["parameters"]["limit"], "inf");
  EXPECT_EQ(json["setup_s"], 0);
  EXPECT_EQ(json["status"], "failed");
  EXPECT_EQ(json["reason"], "the set-up took nan s");
}

TEST(RecordToJson, ReplacesTextThatIsNotUtf8) {
  RunInformation run = examples::run_with_gpus();
  run.environment["UCX_TLS"] = "\xff\xfe";
  const Json json = Json::parse(to_json(run, examples::latency(8, "mpi", "host", 30e-6)));
  EXPECT_EQ(json["environment"]["UCX_TLS"], "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(OutcomeOf, IsTheRecordsOwnWhereItsNumbersAreSound) {
  const Record record = examples::latency(8, "mpi", "host", 30e-6);
  EXPECT_EQ(fault_of(record), "");
  EXPECT_EQ(outcome_of(record).status, Status::ok);
  EXPECT_TRUE(outcome_of(record).measured);
  const Outcome wrong = outcome_of(examples::wrong(record, "no"));
  EXPECT_EQ(wrong.status, Status::failed);
  EXPECT_TRUE(wrong.measured);
  const Outcome skipped = outcome_of(examples::skipped(record, "why"));
  EXPECT_EQ(skipped.status, Status::skipped);
  EXPECT_EQ(skipped.reason, "why");
  EXPECT_FALSE(skipped.measured);
}

TEST(FractionOf, IsTheCeilingsTimeOverTheMedianTime) {
  Record record = examples::latency(8, "mpi", "host", 30e-6);
  EXPECT_DOUBLE_EQ(fraction_of(record, examples::ceiling("memory copy", 3e-6)).value(), 0.1);
  record.samples_s.clear();
  EXPECT_FALSE(fraction_of(record, examples::ceiling("memory copy", 3e-6)));
}

TEST(Find, FindsAParameterByItsName) {
  const Record record = examples::allreduce(80, "mpi", "host", 1);
  ASSERT_NE(find(record.parameters, "count"), nullptr);
  EXPECT_EQ(std::get<std::int64_t>(*find(record.parameters, "count")), 10);
  EXPECT_EQ(find(record.parameters, "missing"), nullptr);
}

TEST(Parts, HaveTheTimeOfTheirLongestStreamAsIdeal) {
  EXPECT_EQ(ideal_seconds({}), 0);
  EXPECT_DOUBLE_EQ(ideal_seconds({{"a", "compute", {3, 1, 2}}}), 2) << "the median";
  EXPECT_DOUBLE_EQ(ideal_seconds({{"a", "compute", {2}}, {"b", "communication", {1.5}}}), 2);
  EXPECT_DOUBLE_EQ(ideal_seconds({{"a", "compute", {2}}, {"b", "communication", {1.5}}, {"c", "communication", {1}}}),
                   2.5)
      << "parts of one stream follow each other";
}

TEST(Parts, AreInTheRecordWithTheTimeline) {
  const Json json = json_of(examples::overlapped("ccl", 1));
  ASSERT_EQ(json["parts"].size(), 3U);
  EXPECT_EQ(json["parts"][1]["name"], "reductions");
  EXPECT_EQ(json["parts"][1]["stream"], "communication");
  EXPECT_EQ(json["parts"][1]["samples"]["values_s"].size(), 10U);
  EXPECT_DOUBLE_EQ(json["parts"][1]["statistics"]["time_us"]["median"], 0.3e6);
  EXPECT_DOUBLE_EQ(json["statistics"]["overlap_efficiency"]["median"], 0.8);
  EXPECT_DOUBLE_EQ(json["timeline"]["time_us"], 1e6);
  EXPECT_EQ(json["timeline"]["spans"][1]["part"], "reductions");
  EXPECT_DOUBLE_EQ(json["timeline"]["spans"][1]["start_us"], 0.5e6);
  EXPECT_EQ(json["timeline"]["spans"][2]["rank"], 1);
  EXPECT_EQ(json["validation"]["exact"], false);
}

TEST(Parts, AreLeftOutWhereThereAreNone) {
  const Json json = json_of(examples::latency(8, "mpi", "host", 30e-6));
  EXPECT_FALSE(json.contains("parts"));
  EXPECT_FALSE(json.contains("timeline"));
  EXPECT_FALSE(json.contains("notes"));
}

TEST(Findings, AreInTheRecordWithTheirTypesAndInTheirOrder) {
  const std::string text = to_json(examples::run_with_gpus(), examples::candidate("mpi", "pairwise+device", 1e-3));
  EXPECT_NE(text.find(R"("facts":{"labels_shared":236041,"balance":1.0,"used":"pairwise+device","exact":true})"),
            std::string::npos)
      << text;
  const Json json = Json::parse(text);
  EXPECT_EQ(json["series"], Json::parse(R"({"relative_residual": [1, 0.5, 0.25]})"));
  EXPECT_EQ(json["report"].size(), 4U);
  EXPECT_EQ(json["report"][1], "");
  EXPECT_EQ(json["candidate"]["name"], "pairwise+device");
  EXPECT_DOUBLE_EQ(json["candidate"]["seconds"], 0.9e-3);
  EXPECT_EQ(json["candidate"]["text"], "pairwise+device (MPI min: 1)");
}

TEST(Findings, AreLeftOutWhereThereAreNone) {
  const Json json = json_of(examples::latency(8, "mpi", "host", 30e-6));
  for (const char* name : {"facts", "series", "report", "candidate"}) EXPECT_FALSE(json.contains(name)) << name;
}

TEST(Findings, StandWhereAnOperationWasNotMeasured) {
  const Json json = json_of(examples::skipped(examples::candidate("ccl", "ccl+device", 1), "no GPU"));
  EXPECT_EQ(json["facts"]["labels_shared"], 236041);
  EXPECT_EQ(json["report"].size(), 4U);
}

TEST(Findings, KeepTheStepsOfASeriesInWhichANumberIsNotFinite) {
  Record record = examples::candidate("mpi", "pairwise+device", 1e-3);
  record.series["relative_residual"] = {1, infinity, 0.25};
  record.candidate->seconds = infinity;
  EXPECT_EQ(json_of(record)["series"]["relative_residual"], Json::parse("[1, null, 0.25]"));
  EXPECT_FALSE(json_of(record).contains("candidate"));
}

TEST(Ceilings, HaveTheRateOfACopyOrOfAProduct) {
  const Json json = json_of(examples::overlapped("ccl", 1));
  EXPECT_EQ(json["ceilings"][0]["gemm_TFLOPs"], 60);
  EXPECT_FALSE(json["ceilings"][0].contains("copy_GBps"));
  EXPECT_EQ(json["ceilings"][1]["copy_GBps"], 55.2);
  EXPECT_FALSE(json["ceilings"][1].contains("gemm_TFLOPs"));
  EXPECT_DOUBLE_EQ(json["ceilings"][0]["fraction"], 0.75);
}

TEST(Notes, AreInTheRecord) {
  RunInformation run = examples::run_without_gpus();
  run.notes = {"scaled"};
  const Json json = Json::parse(to_json(run, examples::latency(8, "mpi", "host", 30e-6)));
  EXPECT_EQ(json["notes"], Json::parse(R"(["scaled"])"));
}

}  // namespace
}  // namespace commlens::measure

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "measure/examples.hpp"
#include "measure/record_json.hpp"

namespace commlens::measure {
namespace {

using examples::infinity;

std::string text_of(const Record& record) { return record_line(examples::start_with_gpus(), Result(record)); }
Json json_of(const Record& record) { return Json::parse(text_of(record)); }
Json json_of(const Start& start) { return Json::parse(start_line(start)); }

TEST(RecordToJson, IsOneLineInTheOrderOfTheSchema) {
  const std::string line = text_of(examples::latency(8, "mpi", "host", 29e-6));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(line.starts_with(R"({"kind":"record","schema":2,"start":"2025-11-21T20:00:00Z-node01-4242",)"
                               R"("time":"2025-11-21T20:00:00Z","benchmark":"latency","parameters":{"bytes":8},)"
                               R"("ranks":2,"transport":"mpi","memory":"host","harness":{"timing":"each",)"))
      << line;
}

TEST(RecordToJson, RoundTripsEverySample) {
  Record record = examples::latency(8, "mpi", "host", 1);
  record.samples_s = {1.0 / 3, 5e-324, 0.1, 1.7976931348623157e308, 29.000000000000004e-6};
  record.metrics.clear();
  record.samples_s[3] = 1.7976931348623157e300;
  EXPECT_EQ(json_of(record)["samples"]["values_s"].get<std::vector<double>>(), record.samples_s);
}

TEST(RecordToJson, KeepsTheTypesAndTheOrderOfParameters) {
  Record record = examples::latency(8, "mpi", "host", 1e-6);
  record.parameters = {
      {"zeta", std::int64_t{9007199254740993}}, {"alpha", true}, {"beta", 0.1}, {"gamma", std::string("a \"b\"\n")}};
  const std::string line = text_of(record);
  EXPECT_NE(line.find(R"("parameters":{"zeta":9007199254740993,"alpha":true,"beta":0.1,"gamma":"a \"b\"\n"})"),
            std::string::npos)
      << line;
}

TEST(RecordToJson, HasStatisticsOfEachMetricAndOfTheTime) {
  const Json json = json_of(examples::latency(8, "mpi", "host", 30e-6));
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

TEST(RecordToJson, HasEachCeilingWithItsMetricsAndTheFraction) {
  Record record = examples::allreduce(80'000'000, "ccl", "device", 400e-6);
  record.ceilings = {examples::ceiling("peer copy", 200e-6), examples::ceiling("memory copy", 40e-6)};
  EXPECT_FALSE(json_of(record).contains("no_ceiling"));
  const Json ceilings = json_of(record)["ceilings"];
  ASSERT_EQ(ceilings.size(), 2U);
  EXPECT_EQ(ceilings[0]["name"], "peer copy");
  EXPECT_DOUBLE_EQ(ceilings[0]["time_us"], 200);
  EXPECT_EQ(ceilings[0]["rate"], 395.5);
  EXPECT_DOUBLE_EQ(ceilings[0]["metrics"]["algorithm_bandwidth_GBps"], 400);
  EXPECT_DOUBLE_EQ(ceilings[0]["metrics"]["batch_s"], 0.01);
  EXPECT_DOUBLE_EQ(ceilings[0]["fraction"], 0.5);
  EXPECT_DOUBLE_EQ(ceilings[1]["fraction"], 0.1);
}

TEST(RecordToJson, LeavesOutCeilingsThatWereNotMeasured) {
  Record record = examples::latency(8, "mpi", "host", 30e-6);
  record.ceilings = {examples::ceiling("zero", 0), examples::ceiling("infinite", infinity),
                     examples::ceiling("no rate", 1e-6)};
  record.ceilings[2].rate = std::nan("");
  EXPECT_TRUE(json_of(record)["ceilings"].empty());
}

TEST(StartToJson, HasADeviceOnlyWhereARankHasOne) {
  EXPECT_EQ(json_of(examples::start_with_gpus())["placement"][1]["device"]["uuid"], "GPU-00000001");
  const Json nic = json_of(examples::start_with_gpus())["placement"][0]["nics"][0];
  EXPECT_EQ(nic, (Json{{"name", "mlx5_0"},
                       {"link_layer", "InfiniBand"},
                       {"rate_Gbps", 400.0},
                       {"numa_node", 0},
                       {"distance", "same PCIe switch"}}));
  const Json unknown = json_of(examples::start_with_gpus())["placement"][1]["nics"][0];
  EXPECT_EQ(unknown, (Json{{"name", "eth0"}, {"link_layer", "Ethernet"}, {"numa_node", -1}})) << "what it is not told";
  EXPECT_FALSE(json_of(examples::start_without_gpus())["placement"][1].contains("nics"));
  EXPECT_FALSE(json_of(examples::start_without_gpus())["placement"][1].contains("device"));
}

TEST(StartToJson, DeclaresParametersWithTheirRolesAndMetricsWithUnitDirectionAndDefinition) {
  const Json benchmark = json_of(examples::start_with_gpus())["benchmark"];
  EXPECT_EQ(benchmark["name"], "allreduce");
  EXPECT_EQ(benchmark["parameters"][0], Json::parse(R"({"name": "bytes", "option": "bytes", "role": "size", "unit": "B",
                          "help": "size of the array", "per_rank": false})"));
  EXPECT_EQ(benchmark["parameters"][1]["role"], "derived");
  EXPECT_EQ(benchmark["parameters"][2]["option"], "in-place");
  EXPECT_EQ(benchmark["metrics"][2], Json::parse(R"({"name": "bus_bandwidth_GBps", "label": "bus bandwidth",
      "unit": "GB/s", "better": "higher", "definition": "times 2(n-1)/n for n ranks"})"));
  EXPECT_EQ(benchmark["facts"][0]["label"], "global ids shared");
}

TEST(StartToJson, DeclaresTheTimeOnce) {
  Start start = examples::start_with_gpus();
  EXPECT_EQ(json_of(start)["benchmark"]["metrics"].size(), 3U) << "time_us is among them";
  start.benchmark.metrics.erase(start.benchmark.metrics.begin());
  const Json metrics = json_of(start)["benchmark"]["metrics"];
  ASSERT_EQ(metrics.size(), 3U);
  EXPECT_EQ(metrics[2]["name"], "time_us") << "behind the benchmark's own";
}

TEST(StartToJson, NamesTheSettingsOfTheEnvironmentAndNotes) {
  Start start = examples::start_with_gpus();
  start.notes = {"scaled"};
  const Json json = json_of(start);
  EXPECT_EQ(json["notes"], Json::parse(R"(["scaled"])"));
  EXPECT_EQ(json["environment"].size(), 2U);
  EXPECT_EQ(json["settings"], Json::parse(R"(["UCX_TLS"])"));
  EXPECT_EQ(json["transports"], Json::parse(R"(["mpi", "staged", "ccl"])"));
}

TEST(RecordToJson, SaysWhichCeilingsWereExceeded) {
  Record record = examples::latency(8, "mpi", "host", 30e-6);
  record.ceilings = {examples::ceiling("memory copy", 60e-6), examples::ceiling("peer copy", 30e-6)};
  const Json ceilings = json_of(record)["ceilings"];
  EXPECT_EQ(ceilings[0]["ceiling_exceeded"], true);
  EXPECT_EQ(ceilings[1]["ceiling_exceeded"], false) << "all that it can give";
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

TEST(RecordToJson, FailsRecordsWithAMetricThatIsNotFiniteOrWithoutSamples) {
  Record record = examples::bandwidth("bandwidth", 8, "mpi", 1e-6);
  record.samples_s[0] = 0;
  Json json = json_of(record);
  EXPECT_EQ(json["status"], "failed");
  EXPECT_EQ(json["reason"], "bandwidth_GBps is inf for a sample of 0 s");
  EXPECT_EQ(json["samples"]["values_s"].size(), 10U);
  record.samples_s.clear();
  json = json_of(record);
  EXPECT_EQ(json["status"], "failed");
  EXPECT_EQ(json["reason"], "nothing was measured");
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
  record.parameters.push_back({"limit", infinity});
  record.setup_s = std::nan("");
  record.repetition.min_time_s = infinity;
  record.repetition.until_ci_percent = -infinity;
  record.ceilings = {examples::ceiling("memory copy", infinity)};
  const std::string line = text_of(record);
  EXPECT_EQ(line.find("null"), std::string::npos) << line;
  const Json json = Json::parse(line);
  EXPECT_EQ(json["parameters"]["limit"], "inf");
  EXPECT_EQ(json["setup_s"], 0);
  EXPECT_EQ(json["status"], "failed");
  EXPECT_EQ(json["reason"], "the set-up took nan s");
}

TEST(RecordToJson, ReplacesTextThatIsNotUtf8) {
  Start start = examples::start_with_gpus();
  start.environment["UCX_TLS"] = "\xff\xfe";
  const Json json = json_of(start);
  EXPECT_EQ(json["environment"]["UCX_TLS"], "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Parts, AreInTheRecordWithTheTimelineAndTheirCeilings) {
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
  EXPECT_EQ(json["ceilings"][0]["rate"], 60) << "of a product";
  EXPECT_EQ(json["ceilings"][0]["unit"], "TFLOP/s");
  EXPECT_EQ(json["ceilings"][1]["rate"], 55.2) << "of a copy";
  EXPECT_EQ(json["ceilings"][1]["unit"], "GB/s");
}

TEST(Observations, AreInTheRecordWithTheirTypesAndInTheirOrder) {
  const std::string text = text_of(examples::candidate("mpi", "pairwise+device", 1e-3));
  EXPECT_NE(text.find(R"("facts":{"global_ids_shared":236041,"balance":1.0,"used":"pairwise+device","exact":true})"),
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

TEST(Observations, AreLeftOutWhereThereAreNone) {
  Record record = examples::latency(8, "mpi", "host", 30e-6);
  for (const char* name : {"parts", "timeline", "facts", "series", "report", "candidate", "libraries"}) {
    EXPECT_FALSE(json_of(record).contains(name)) << name;
  }
  record.libraries["blas"] = "OpenBLAS 0.3.21";
  EXPECT_EQ(json_of(record)["libraries"]["blas"], "OpenBLAS 0.3.21");
}

TEST(Observations, StandWhereAnOperationWasNotMeasured) {
  const Json json = json_of(examples::skipped(examples::candidate("ccl", "ccl+device", 1), "no GPU"));
  EXPECT_EQ(json["facts"]["global_ids_shared"], 236041);
  EXPECT_EQ(json["report"].size(), 4U);
}

TEST(Observations, KeepTheStepsOfASeriesInWhichANumberIsNotFinite) {
  Record record = examples::candidate("mpi", "pairwise+device", 1e-3);
  record.series["relative_residual"] = {1, infinity, 0.25};
  record.candidate->seconds = infinity;
  EXPECT_EQ(json_of(record)["series"]["relative_residual"], Json::parse("[1, null, 0.25]"));
  EXPECT_FALSE(json_of(record).contains("candidate"));
}

}  // namespace
}  // namespace commlens::measure

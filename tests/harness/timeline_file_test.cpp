#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "harness/output.hpp"

namespace commlens {
namespace {

/// Of this process alone, as tests run at the same time.
class Path {
 public:
  Path() : name_(testing::TempDir() + "commlens-trace-" + std::to_string(getpid()) + ".json") {}
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  ~Path() { std::remove(name_.c_str()); }
  operator const std::string&() const { return name_; }  // NOLINT(google-explicit-constructor)

 private:
  std::string name_;
};
const Path path;

Json written() {
  std::ifstream file{std::string(path)};
  return Json::parse(file);
}

measure::Timeline two_ranks() {
  return {.seconds = 1e-3,
          .spans = {{0, "compute", "multiplications", 0, 0, 2e-6},
                    {0, "communication", "reductions", 0, 2e-6, 5e-6},
                    {0, "compute", "multiplications", 1, 2e-6, 4e-6},
                    {1, "compute", "multiplications", 0, 1e-6, 3e-6}}};
}

Json events(const std::string& kind) {
  Json matching = Json::array();
  const Json all = written();
  for (const auto& event : all["traceEvents"]) {
    if (event["ph"] == kind) matching.push_back(event);
  }
  return matching;
}

TEST(TimelineFile, IsThereAndWholeBeforeTheFirstTimeline) {
  const TimelineFile file(path);
  EXPECT_TRUE(written()["traceEvents"].empty());
}

TEST(TimelineFile, HasAProcessARankAndATrackAStream) {
  TimelineFile file(path);
  file.add("ccl", two_ranks());
  const Json steps = events("X");
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[0]["name"], "multiplications 0");
  EXPECT_EQ(steps[1]["ts"], 2.0) << "microseconds";
  EXPECT_DOUBLE_EQ(steps[1]["dur"], 3.0);
  EXPECT_NE(steps[0]["tid"], steps[1]["tid"]) << "streams have tracks of their own";
  EXPECT_EQ(steps[0]["tid"], steps[2]["tid"]);
  EXPECT_EQ(steps[0]["pid"], steps[1]["pid"]);
  EXPECT_NE(steps[0]["pid"], steps[3]["pid"]) << "ranks are processes";
  std::vector<std::string> names;
  const Json metadata = events("M");
  for (const auto& event : metadata) names.push_back(event["args"]["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"ccl, rank 0", "compute", "communication", "ccl, rank 1", "compute"}));
}

TEST(TimelineFile, KeepsTheCasesOfAStartApart) {
  TimelineFile file(path);
  file.add("mpi", two_ranks());
  file.add("ccl", two_ranks());
  std::set<int> processes;
  const Json steps = events("X");
  for (const auto& event : steps) processes.insert(event["pid"].get<int>());
  EXPECT_EQ(processes.size(), 4U);
}

TEST(TimelineFile, SaysWhyItCannotBeWritten) {
  const std::string missing = testing::TempDir() + "no such folder/trace.json";
  try {
    const TimelineFile file(missing);
    FAIL() << "there is no such folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), missing + " cannot be written: No such file or directory");
  }
}

}  // namespace
}  // namespace commlens

#include "measure/reporters/text.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>

#include "measure/examples.hpp"
#include "measure/format.hpp"

namespace commlens::measure {
namespace {

/// As Python writes it, whose test reads the same file.
std::string written(const std::string& kind, double number) {
  if (kind == "bytes") return format_bytes(number);
  if (kind == "percent") return format_percent(number);
  if (kind == "fraction") return format_fraction(number);
  return kind == "number" ? format_number(number) : "no such kind";
}

TEST(Formats, AreThoseOfTheTable) {
  std::ifstream table(COMMLENS_FORMATS_TABLE);
  int lines = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t equals = line.find(" = ");
    std::istringstream words(line.substr(0, equals));
    std::string kind;
    std::string number;
    words >> kind >> number;
    EXPECT_EQ(written(kind, std::stod(number)), line.substr(equals + 3)) << line;
    ++lines;
  }
  EXPECT_GT(lines, 40);
}

TEST(FormatNumber, WritesWhatIsNone) { EXPECT_EQ(format_number(std::numeric_limits<double>::infinity()), "inf"); }

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

#include "base/format.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace commlens {
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

}  // namespace
}  // namespace commlens

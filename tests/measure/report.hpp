// Runs a reporter over groups of records and gives back its text.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure/examples.hpp"
#include "measure/reporter.hpp"

namespace commlens::measure::examples {

/// What the running test is to print: expected/SUITE.TEST.txt.
inline std::string expected() {
  const auto& test = *testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = std::string(test.test_suite_name()) + "." + test.name() + ".txt";
  std::ifstream file(std::string(COMMLENS_EXPECTED_FOLDER) + "/" + name);
  if (!file) throw std::invalid_argument("no file " + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

using Groups = std::vector<std::vector<Record>>;

inline std::vector<Result> results_of(const std::vector<Record>& records) { return {records.begin(), records.end()}; }

inline std::unique_ptr<Reporter> make_reporter(const std::string& format, std::ostream& out) {
  const auto match = std::find_if(reporters().begin(), reporters().end(),
                                  [&](const ReporterDescription& description) { return description.name == format; });
  if (match == reporters().end()) throw std::invalid_argument("no format " + format);
  return match->make(out);
}

inline std::string report(const std::string& format, const Start& start, const Groups& groups) {
  std::ostringstream out;
  const auto reporter = make_reporter(format, out);
  reporter->begin(start);
  for (const auto& group : groups) {
    const std::string benchmark = group.empty() ? "" : group.front().benchmark;
    reporter->add(with_layouts(start, benchmark), results_of(group));
  }
  reporter->end();
  return out.str();
}

}  // namespace commlens::measure::examples

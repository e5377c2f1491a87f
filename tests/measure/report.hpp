// Runs a reporter over groups of records and gives back its text.
#pragma once

#include <algorithm>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure/examples.hpp"
#include "measure/reporter.hpp"

namespace commlens::measure::examples {

using Groups = std::vector<std::vector<Record>>;

inline std::vector<Result> results_of(const std::vector<Record>& records) { return {records.begin(), records.end()}; }

inline std::unique_ptr<Reporter> make_reporter(const std::string& format, std::ostream& out) {
  const auto found = std::find_if(reporters().begin(), reporters().end(),
                                  [&](const ReporterDescription& description) { return description.name == format; });
  if (found == reporters().end()) throw std::invalid_argument("no format " + format);
  return found->make(out);
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

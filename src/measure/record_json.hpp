// Records as lines of JSON, as docs/record.schema.json says. No line holds a number that is not finite: a record of
// which Result says so is written without statistics, and a ceiling without a fraction is left out.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "measure/declarations.hpp"
#include "measure/record.hpp"
#include "measure/result.hpp"

namespace commlens::measure {

/// The line that stands before the records of a start. Without the newline, as all of these.
std::string start_line(const Start& start);
std::string record_line(const Start& start, const Result& result);

/// Declarations: in the line of a start, and in what the program lists of its benchmarks.
/// {"name": "time_us", "label": "time", "unit": "us", "better": "lower", "definition": "..."}
Json to_json(const Metric& metric);
Json to_json(const Fact& fact);
Json to_json(const ParameterDeclaration& parameter);
Json to_json(const BenchmarkDeclaration& benchmark);

template <class Declaration>
Json to_json(const std::vector<Declaration>& declarations) {
  auto list = Json::array();
  for (const Declaration& declaration : declarations) list.push_back(to_json(declaration));
  return list;
}

}  // namespace commlens::measure

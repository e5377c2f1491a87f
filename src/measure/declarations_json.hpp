// Declarations as JSON: in the line of a start, and in what the program says of its benchmarks.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "measure/declarations.hpp"

namespace commlens::measure {

/// {"name": "time_us", "label": "time", "unit": "us", "better": "lower", "definition": "..."}
nlohmann::ordered_json to_json(const Metric& metric);
nlohmann::ordered_json to_json(const Fact& fact);
nlohmann::ordered_json to_json(const ParameterDeclaration& parameter);
nlohmann::ordered_json to_json(const BenchmarkDeclaration& benchmark);

template <class Declaration>
nlohmann::ordered_json to_json(const std::vector<Declaration>& declarations) {
  auto list = nlohmann::ordered_json::array();
  for (const Declaration& declaration : declarations) list.push_back(to_json(declaration));
  return list;
}

}  // namespace commlens::measure

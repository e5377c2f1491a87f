#include "measure/declarations_json.hpp"

namespace commlens::measure {

using Json = nlohmann::ordered_json;

Json to_json(const Metric& metric) {
  return {{"name", metric.name},
          {"label", metric.label()},
          {"unit", metric.unit.text},
          {"better", name(metric.better)},
          {"definition", metric.definition}};
}

Json to_json(const Fact& fact) {
  return {{"name", fact.name},
          {"label", label_of(fact.name, fact.unit)},
          {"unit", fact.unit.text},
          {"definition", fact.definition}};
}

Json to_json(const ParameterDeclaration& parameter) {
  return {{"name", parameter.name}, {"option", parameter.option}, {"role", name(parameter.role)},
          {"unit", parameter.unit}, {"help", parameter.help},     {"per_rank", parameter.per_rank}};
}

Json to_json(const BenchmarkDeclaration& benchmark) {
  return {{"name", benchmark.name},
          {"description", benchmark.description},
          {"parameters", to_json(benchmark.parameters)},
          {"metrics", to_json(with_time(benchmark.metrics))},
          {"facts", to_json(benchmark.facts)},
          {"divides_work", benchmark.divides_work}};
}

}  // namespace commlens::measure

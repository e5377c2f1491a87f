#include "measure/record_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <utility>
#include <variant>

namespace commlens::measure {

namespace {

constexpr int schema_version = 2;

double microseconds(double seconds) { return seconds * 1e6; }

double time_or_zero(double seconds) { return is_time(seconds) ? seconds : 0; }

/// JSON has no word for infinities and NaN, and an option may well be one ("no limit"): it is written as text.
struct ValueToJson {
  Json operator()(double value) const { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); }
  template <typename Other>
  Json operator()(const Other& value) const {
    return value;
  }
};

Json to_json(const Value& value) { return std::visit(ValueToJson{}, value); }

Json to_json(const Gpu& gpu) {
  Json json = {{"ordinal", gpu.ordinal}, {"name", gpu.name},           {"uuid", gpu.uuid},
               {"pci", gpu.pci},         {"numa_node", gpu.numa_node}, {"memory_bytes", gpu.memory_bytes}};
  if (gpu.power_limit_W > 0) json["power_limit_W"] = gpu.power_limit_W;
  if (gpu.default_power_limit_W > 0) json["default_power_limit_W"] = gpu.default_power_limit_W;
  return json;
}

Json to_json(const Nic& nic) {
  Json json = {{"name", nic.name}, {"link_layer", nic.link_layer}};
  if (nic.rate_Gbps > 0) json["rate_Gbps"] = nic.rate_Gbps;
  json["numa_node"] = nic.numa_node;
  if (nic.distance != NicDistance::unknown) json["distance"] = name(nic.distance);
  return json;
}

Json to_json(const Placement& place) {
  Json json = {{"rank", place.rank}, {"host", place.host}, {"cores", place.cores}, {"numa_nodes", place.numa_nodes}};
  if (place.gpu) json["device"] = to_json(*place.gpu);
  for (const Nic& nic : place.nics) json["nics"].push_back(to_json(nic));
  return json;
}

Json parameters_to_json(const Parameters& parameters) {
  Json json = Json::object();
  for (const Parameter& parameter : parameters) json[parameter.name] = to_json(parameter.value);
  return json;
}

Json facts_to_json(const Facts& facts) {
  Json json = Json::object();
  for (const auto& [fact, value] : facts) json[fact] = to_json(value);
  return json;
}

Json to_json(const Repetition& repetition) {
  return {{"timing", name(repetition.timing)},
          {"repeat", repetition.repeat},
          {"warmup", repetition.warmup},
          {"batches", repetition.batches},
          {"min_time_s", time_or_zero(repetition.min_time_s)},
          {"until_ci_percent", time_or_zero(repetition.until_ci_percent)},
          {"max_time_s", time_or_zero(repetition.max_time_s)}};
}

/// `scale` is from the unit of the statistics to the record's.
Json to_json(const Statistics& statistics, double scale = 1) {
  const auto& interval = statistics.median_interval;
  return {{"count", statistics.count},
          {"median", scale * statistics.median},
          {"ci_low", interval ? Json(scale * interval->low) : Json(nullptr)},
          {"ci_high", interval ? Json(scale * interval->high) : Json(nullptr)},
          {"confidence", Statistics::confidence},
          {"min", scale * statistics.min},
          {"mean", scale * statistics.mean},
          {"p95", scale * statistics.p95},
          {"p99", scale * statistics.p99},
          {"max", scale * statistics.max}};
}

Json statistics_to_json(const Result& result) {
  Json json = Json::object();
  for (const auto& [metric, statistics] : result.metrics()) json[metric.metric.name] = to_json(statistics);
  return json;
}

Json samples_to_json(const Record& record) {
  Json values = Json::array();
  for (const double sample : record.samples_s) {
    if (is_time(sample)) values.push_back(sample);  // the record's reason says what was left out
  }
  return {{"operation", record.operation}, {"values_s", std::move(values)}};
}

Json to_json(const Validation& validation) {
  Json json{{"status", name(validation.status)},
            {"checks", validation.checks},
            {"exact", validation.exact},
            {"elements", validation.elements},
            {"message", validation.message}};
  const auto& deviation = validation.deviation;
  if (deviation && std::isfinite(deviation->largest) && std::isfinite(deviation->total)) {
    json["deviation"] = {{"largest", deviation->largest}, {"total", deviation->total}};
  }
  return json;
}

Json ceiling_to_json(const Record& record, const Ceiling& ceiling, double fraction) {
  Json metrics = Json::object();
  for (const CaseMetric& metric : record.metrics) {
    const double value = metric.at(ceiling.seconds);
    if (ceiling.part.empty() && std::isfinite(value)) metrics[metric.metric.name] = value;
  }
  Json json{{"name", ceiling.name}, {"method", ceiling.method}, {"time_us", microseconds(ceiling.seconds)}};
  if (!ceiling.part.empty()) json["part"] = ceiling.part;
  json["rate"] = ceiling.rate;
  json["unit"] = ceiling.unit.text;
  if (ceiling.library) json["library"] = true;
  json["metrics"] = std::move(metrics);
  json["fraction"] = fraction;
  json["ceiling_exceeded"] = fraction > 1;
  return json;
}

Json ceilings_to_json(const Result& result) {
  Json json = Json::array();
  const auto& ceilings = result.record().ceilings;
  for (std::size_t i = 0; i < ceilings.size(); ++i) {
    const auto fraction = result.fractions()[i];
    if (fraction) json.push_back(ceiling_to_json(result.record(), ceilings[i], *fraction));
  }
  return json;
}

Json parts_to_json(const Result& result) {
  Json json = Json::array();
  const auto& parts = result.record().parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Json entry{{"name", parts[i].name}, {"stream", parts[i].stream}};
    if (parts[i].within) entry["within"] = true;
    entry["samples"] = {{"values_s", parts[i].samples_s}};
    entry["statistics"] = {{"time_us", to_json(result.parts()[i], 1e6)}};
    json.push_back(std::move(entry));
  }
  return json;
}

Json to_json(const Timeline& timeline) {
  Json spans = Json::array();
  for (const Span& span : timeline.spans) {
    spans.push_back({{"rank", span.rank},
                     {"stream", span.stream},
                     {"part", span.part},
                     {"step", span.step},
                     {"start_us", microseconds(span.start_s)},
                     {"end_us", microseconds(span.end_s)}});
  }
  return {{"time_us", microseconds(timeline.seconds)}, {"spans", std::move(spans)}};
}

/// A value that is not finite is null, so that those behind it keep their steps.
Json series_to_json(const std::map<std::string, std::vector<double>>& series) {
  Json json = Json::object();
  for (const auto& [name, values] : series) {
    json[name] = Json::array();
    for (const double value : values) json[name].push_back(std::isfinite(value) ? Json(value) : Json(nullptr));
  }
  return json;
}

Json to_json(const SharedGpu& gpu) {
  Json json{{"host", gpu.host}, {"ordinal", gpu.ordinal}, {"processes", gpu.processes}};
  if (gpu.utilization) json["utilization"] = *gpu.utilization;
  return json;
}

Json to_json(const Interference& interference) {
  Json json{{"seconds", interference.seconds}, {"cores", interference.cores}};
  for (const auto& [field, value] : {std::pair("busy_cores", interference.busy_cores),
                                     {"stolen_cores", interference.stolen_cores},
                                     {"waiting_fraction", interference.waiting_fraction},
                                     {"switches_per_sample", interference.switches_per_sample}}) {
    if (value) json[field] = *value;
  }
  for (const auto& [name, host, cores] : interference.programs) {
    json["programs"].push_back({{"name", name}, {"host", host}, {"cores", cores}});
  }
  for (const SharedGpu& gpu : interference.gpus) json["gpus"].push_back(to_json(gpu));
  return json;
}

void add_observations(Json& json, const Record& record) {
  const auto& candidate = record.candidate;
  if (!record.facts.empty()) json["facts"] = facts_to_json(record.facts);
  if (!record.series.empty()) json["series"] = series_to_json(record.series);
  if (!record.report.empty()) json["report"] = record.report;
  if (candidate && is_time(candidate->seconds)) {
    json["candidate"] = {{"name", candidate->name}, {"seconds", candidate->seconds}, {"text", candidate->text}};
  }
}

void add_results(Json& json, const Result& result) {
  const Record& record = result.record();
  const Outcome& outcome = result.outcome();
  json["status"] = name(outcome.status);
  json["reason"] = outcome.reason;
  json["samples"] = samples_to_json(record);
  json["statistics"] = statistics_to_json(result);
  json["setup_s"] = time_or_zero(record.setup_s);
  json["validation"] = to_json(record.validation);
  if (outcome.measured && !record.parts.empty()) json["parts"] = parts_to_json(result);
  if (outcome.measured && !record.timeline.spans.empty()) json["timeline"] = to_json(record.timeline);
  if (outcome.measured && !record.calls.empty()) json["calls"] = record.calls;
  add_observations(json, record);
  json["ceilings"] = ceilings_to_json(result);
  if (!record.no_ceiling.empty()) json["no_ceiling"] = record.no_ceiling;
  if (const auto& clock = record.gpu_clock) {
    json["gpu_clock"] = {
        {"least_MHz", clock->least_MHz}, {"highest_MHz", clock->highest_MHz}, {"limits", clock->limits}};
  }
  if (const auto& faults = record.page_faults) {
    json["page_faults"] = {{"per_operation", faults->per_operation}, {"seconds", faults->seconds}};
  }
  if (record.interference) json["interference"] = to_json(*record.interference);
  if (!record.libraries.empty()) json["libraries"] = record.libraries;
  if (!record.selection.empty()) json["selection"] = record.selection;
}

}  // namespace

std::string start_line(const Start& start) {
  Json placement = Json::array();
  for (const Placement& place : start.placement) placement.push_back(to_json(place));
  return line_of({{"kind", "start"},
                  {"schema", schema_version},
                  {"start", start.id},
                  {"time", start.time},
                  {"benchmark", to_json(start.benchmark)},
                  {"backend", start.backend},
                  {"ranks", start.ranks},
                  {"nodes", start.nodes},
                  {"transports", start.transports},
                  {"records", start.records},
                  {"placement", std::move(placement)},
                  {"processes", start.processes},
                  {"notes", start.notes},
                  {"versions", start.versions},
                  {"environment", start.environment},
                  {"settings", start.settings},
                  {"command", start.command}});
}

std::string record_line(const Start& start, const Result& result) {
  const Record& record = result.record();
  Json json = {{"kind", "record"},
               {"schema", schema_version},
               {"start", start.id},
               {"time", record.time},
               {"benchmark", record.benchmark},
               {"parameters", parameters_to_json(record.parameters)},
               {"ranks", record.ranks},
               {"transport", record.transport},
               {"memory", record.memory},
               {"harness", to_json(record.repetition)}};
  add_results(json, result);
  return line_of(json);
}

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

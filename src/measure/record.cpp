#include "measure/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace commlens::measure {
namespace {

// Ordered, so that a record reads in the order of the schema and two records can be compared as text.
using Json = nlohmann::ordered_json;

constexpr int schema_version = 1;

double microseconds(double seconds) { return seconds * 1e6; }

const Figure& time_in_microseconds() {
  static const Figure figure{.name = "time_us", .better = Better::lower, .from_seconds = microseconds};
  return figure;
}

const char* name(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::failed:
      return "failed";
    case Status::skipped:
      return "skipped";
  }
  return "failed";
}

const char* name(ValidationStatus status) {
  switch (status) {
    case ValidationStatus::passed:
      return "passed";
    case ValidationStatus::failed:
      return "failed";
    case ValidationStatus::off:
      return "off";
    case ValidationStatus::not_reached:
      return "not reached";
  }
  return "not reached";
}

const char* name(Better better) { return better == Better::lower ? "lower" : "higher"; }

bool is_time(double seconds) { return std::isfinite(seconds) && seconds >= 0; }

double time_or_zero(double seconds) { return is_time(seconds) ? seconds : 0; }

std::string fault_of_samples(const std::vector<double>& samples_s) {
  const auto bad = std::count_if(samples_s.begin(), samples_s.end(), [](double sample) { return !is_time(sample); });
  if (bad == 0) return {};
  const auto first = std::find_if(samples_s.begin(), samples_s.end(), [](double sample) { return !is_time(sample); });
  return fmt::format("{} of {} samples are not times, the first is sample {}: {} s", bad, samples_s.size(),
                     first - samples_s.begin(), *first);
}

std::string fault_of_figure(const std::vector<double>& samples_s, const Figure& figure) {
  for (const double sample : samples_s) {
    const double value = figure.from_seconds(sample);
    if (!std::isfinite(value)) return fmt::format("{} is {} for a sample of {} s", figure.name, value, sample);
  }
  return {};
}

/// JSON has no word for infinities and NaN, and an option may well be one ("no limit"): it is written as text.
struct ValueToJson {
  Json operator()(double value) const { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); }
  template <typename Other>
  Json operator()(const Other& value) const {
    return value;
  }
};

Json values_to_json(const std::vector<std::pair<std::string, Value>>& values) {
  Json json = Json::object();
  for (const auto& [key, value] : values) json[key] = std::visit(ValueToJson{}, value);
  return json;
}

Json gpu_to_json(const Gpu& gpu) {
  return {{"ordinal", gpu.ordinal}, {"name", gpu.name},           {"uuid", gpu.uuid},
          {"pci", gpu.pci},         {"numa_node", gpu.numa_node}, {"memory_bytes", gpu.memory_bytes}};
}

Json placement_to_json(const std::vector<Placement>& placement) {
  Json json = Json::array();
  for (const Placement& place : placement) {
    Json entry = {{"rank", place.rank}, {"host", place.host}, {"cores", place.cores}, {"numa_nodes", place.numa_nodes}};
    if (place.gpu) entry["device"] = gpu_to_json(*place.gpu);
    json.push_back(std::move(entry));
  }
  return json;
}

Json repetition_to_json(const Repetition& repetition) {
  return {{"timing", name(repetition.timing)},
          {"repeat", repetition.repeat},
          {"warmup", repetition.warmup},
          {"batches", repetition.batches},
          {"min_time_s", time_or_zero(repetition.min_time_s)},
          {"until_ci_percent", time_or_zero(repetition.until_ci_percent)}};
}

Json statistics_to_json(const Statistics& statistics) {
  const auto& interval = statistics.median_interval;
  return {{"count", statistics.count},
          {"median", statistics.median},
          {"ci_low", interval ? Json(interval->low) : Json(nullptr)},
          {"ci_high", interval ? Json(interval->high) : Json(nullptr)},
          {"confidence", Statistics::confidence},
          {"min", statistics.min},
          {"mean", statistics.mean},
          {"p95", statistics.p95},
          {"p99", statistics.p99},
          {"max", statistics.max}};
}

Json all_statistics_to_json(const Record& record) {
  Json json = Json::object();
  for (const Figure& figure : record.figures) json[figure.name] = statistics_to_json(statistics_of(record, figure));
  const Figure& time = time_in_microseconds();
  if (!json.contains(time.name)) json[time.name] = statistics_to_json(statistics_of(record, time));
  return json;
}

Json figures_to_json(const std::vector<Figure>& figures) {
  Json json = Json::array();
  for (const Figure& figure : figures) json.push_back({{"name", figure.name}, {"better", name(figure.better)}});
  return json;
}

Json samples_to_json(const Record& record) {
  Json values = Json::array();
  for (const double sample : record.samples_s) {
    if (is_time(sample)) values.push_back(sample);  // what was left out is told by the record's reason
  }
  return {{"operation", record.operation}, {"values_s", std::move(values)}};
}

Json validation_to_json(const Validation& validation) {
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
  Json figures = Json::object();
  for (const Figure& figure : record.figures) {
    const double value = figure.from_seconds(ceiling.seconds);
    if (ceiling.part.empty() && std::isfinite(value)) figures[figure.name] = value;
  }
  Json json{{"name", ceiling.name}, {"method", ceiling.method}, {"time_us", microseconds(ceiling.seconds)}};
  if (!ceiling.part.empty()) json["part"] = ceiling.part;
  if (ceiling.copy_GBps > 0) json["copy_GBps"] = ceiling.copy_GBps;
  if (ceiling.gemm_TFLOPs > 0) json["gemm_TFLOPs"] = ceiling.gemm_TFLOPs;
  if (ceiling.library) json["library"] = true;
  json["figures"] = std::move(figures);
  json["fraction"] = fraction;
  return json;
}

Json parts_to_json(const std::vector<Part>& parts) {
  Json json = Json::array();
  for (const Part& part : parts) {
    std::vector<double> times_us(part.samples_s.size());
    std::transform(part.samples_s.begin(), part.samples_s.end(), times_us.begin(), microseconds);
    Json entry{{"name", part.name}, {"stream", part.stream}};
    if (part.within) entry["within"] = true;
    entry["samples"] = {{"values_s", part.samples_s}};
    entry["statistics"] = {{"time_us", statistics_to_json(summarize(times_us))}};
    json.push_back(std::move(entry));
  }
  return json;
}

Json timeline_to_json(const Timeline& timeline) {
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

Json ceilings_to_json(const Record& record) {
  Json json = Json::array();
  for (const Ceiling& ceiling : record.ceilings) {
    if (const auto fraction = fraction_of(record, ceiling)) json.push_back(ceiling_to_json(record, ceiling, *fraction));
  }
  return json;
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

void add_findings(Json& json, const Record& record) {
  const auto& candidate = record.candidate;
  if (!record.facts.empty()) json["facts"] = values_to_json(record.facts);
  if (!record.series.empty()) json["series"] = series_to_json(record.series);
  if (!record.report.empty()) json["report"] = record.report;
  if (candidate && is_time(candidate->seconds)) {
    json["candidate"] = {{"name", candidate->name}, {"seconds", candidate->seconds}, {"text", candidate->text}};
  }
}

void add_run(Json& json, const RunInformation& run) {
  json["backend"] = run.backend;
  json["ranks"] = run.ranks;
  json["nodes"] = run.nodes;
  json["placement"] = placement_to_json(run.placement);
  json["warnings"] = run.warnings;
  if (!run.notes.empty()) json["notes"] = run.notes;
  json["versions"] = run.versions;
  json["environment"] = run.environment;
  json["command"] = run.command;
}

void add_results(Json& json, const Record& record) {
  const Outcome outcome = outcome_of(record);
  json["status"] = name(outcome.status);
  json["reason"] = outcome.reason;
  json["samples"] = samples_to_json(record);
  json["statistics"] = outcome.measured ? all_statistics_to_json(record) : Json::object();
  json["figures"] = figures_to_json(record.figures);
  json["setup_s"] = time_or_zero(record.setup_s);
  json["validation"] = validation_to_json(record.validation);
  if (outcome.measured && !record.parts.empty()) json["parts"] = parts_to_json(record.parts);
  if (outcome.measured && !record.timeline.spans.empty()) json["timeline"] = timeline_to_json(record.timeline);
  if (outcome.measured && !record.calls.empty()) json["calls"] = record.calls;
  add_findings(json, record);
  json["ceilings"] = outcome.measured ? ceilings_to_json(record) : Json::array();
}

}  // namespace

std::string name(Timing timing) { return timing == Timing::batch ? "batch" : "each"; }

Statistics statistics_of(const Record& record, const Figure& figure) {
  std::vector<double> values(record.samples_s.size());
  std::transform(record.samples_s.begin(), record.samples_s.end(), values.begin(), figure.from_seconds);
  return summarize(values);
}

std::optional<double> fraction_of(const Record& record, const Ceiling& ceiling) {
  if (record.samples_s.empty() || !is_time(ceiling.seconds) || ceiling.seconds == 0) return std::nullopt;
  const double rate = ceiling.copy_GBps + ceiling.gemm_TFLOPs;
  if (!std::isfinite(rate) || rate <= 0) return std::nullopt;
  const auto part = std::find_if(record.parts.begin(), record.parts.end(),
                                 [&](const Part& candidate) { return candidate.name == ceiling.part; });
  if (!ceiling.part.empty() && part == record.parts.end()) return std::nullopt;
  const auto& samples = ceiling.part.empty() ? record.samples_s : part->samples_s;
  const double fraction = ceiling.seconds / summarize(samples).median;
  if (!std::isfinite(fraction)) return std::nullopt;
  return fraction;
}

double ideal_seconds(const std::vector<Part>& parts) {
  std::map<std::string, double> of_stream;
  for (const Part& part : parts) of_stream[part.stream] += summarize(part.samples_s).median;
  double longest = 0;
  for (const auto& [stream, seconds] : of_stream) longest = std::max(longest, seconds);
  return longest;
}

std::string fault_of(const Record& record) {
  if (record.samples_s.empty()) return "nothing was measured";
  if (std::string fault = fault_of_samples(record.samples_s); !fault.empty()) return fault;
  for (const Figure& figure : record.figures) {
    if (std::string fault = fault_of_figure(record.samples_s, figure); !fault.empty()) return fault;
  }
  return is_time(record.setup_s) ? std::string{} : fmt::format("the set-up took {} s", record.setup_s);
}

Outcome outcome_of(const Record& record) {
  const std::string fault = fault_of(record);
  if (record.status == Status::skipped) return {Status::skipped, record.reason, false};
  if (fault.empty()) return {record.status, record.status == Status::ok ? "" : record.reason, true};
  if (record.status == Status::ok || record.reason.empty()) return {Status::failed, fault, false};
  // A benchmark that failed before its first sample has said why; that nothing was measured goes without saying.
  return {Status::failed, record.samples_s.empty() ? record.reason : record.reason + "; " + fault, false};
}

const Value* find(const Parameters& parameters, const std::string& name) {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const auto& parameter) { return parameter.first == name; });
  return found == parameters.end() ? nullptr : &found->second;
}

std::string to_json(const RunInformation& run, const Record& record) {
  Json json = {{"schema", schema_version}, {"time", record.time}, {"run", run.run}, {"benchmark", record.benchmark}};
  json["parameters"] = values_to_json(record.parameters);
  if (!record.variant.empty()) json["variant"] = record.variant;
  json["harness"] = repetition_to_json(record.repetition);
  json["transport"] = record.transport;
  json["memory"] = record.memory;
  add_run(json, run);
  add_results(json, record);
  // Text from the environment and from libraries need not be UTF-8; a record is not worth losing for that.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace commlens::measure

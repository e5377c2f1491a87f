#include "harness/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <variant>

#include "base/clock.hpp"
#include "harness/ceiling.hpp"
#include "harness/monitor.hpp"
#include "harness/page_faults.hpp"
#include "harness/sampled_run.hpp"
#include "measure/result.hpp"
#include "measure/sampling.hpp"
#include "transport/activity.hpp"
#include "transport/ccl_profiler.hpp"
#include "transport/mpi_calls.hpp"
#include "transport/mpi_library.hpp"

namespace commlens {

using measure::Timing;

namespace {

/// "latency over mpi, bytes 8, device memory"
std::string description_of(const measure::Record& record) {
  std::string parameters;
  for (const auto& [name, value, role, unit] : record.parameters) {
    const bool tells = role == measure::Role::size || role == measure::Role::variant;
    if (tells) parameters += fmt::format(", {} {}", name, measure::text_of(value));
  }
  return fmt::format("{} over {}{}, {} memory", record.benchmark, record.transport, parameters, record.memory);
}

}  // namespace

device::Buffer Run::Storage::take(std::size_t bytes, const std::string& benchmark) {
  const std::size_t rounded = (bytes + page - 1) / page * page;
  if (used + bytes > arena.bytes()) {
    throw std::logic_error(
        fmt::format("{} asks for {} bytes beyond its memory_estimate()", benchmark, used + bytes - arena.bytes()));
  }
  std::byte* const start = arena.as<std::byte>() + used;
  used = std::min(used + rounded, arena.bytes());
  return {start, bytes, arena.memory()};
}

Run::Run(const Resources& resources, transport::Transport& transport, Storage buffers, Storage staging,
         measure::Record& record)
    : resources_(resources),
      transport_(transport),
      buffers_(buffers),
      staging_(staging),
      stream_(resources.device.stream(buffers.arena.memory())),
      record_(record) {}

bool Run::mpi_takes_memory() const {
  if (!device::on_gpu(memory())) return true;
  return resources_.settings.gpu_aware_mpi_off.empty() &&
         transport::mpi_gpu_awareness(std::string(device::backend())).says == true;
}

Context Run::context() {
  return {.communicator = communicator(),
          .transport = transport_,
          .device = device(),
          .memory = memory(),
          .stream = *stream_,
          .allocate = [this](std::size_t bytes) { return buffer(bytes); },
          .allocate_staging = [this](std::size_t bytes) { return staging_buffer(bytes); }};
}

std::unique_ptr<device::Stream> Run::concurrent_stream(device::Priority priority) {
  return device().concurrent_stream(memory(), priority);
}

device::Blas& Run::blas() {
  device::Blas& blas = resources_.blas(memory());
  record_.libraries["blas"] = blas.library();
  return blas;
}

void Run::barrier() {
  stream_->wait();
  transport::mpi_calls::barrier(communicator());
}

measure::Repetition Run::repetition(const measure::Repetition& defaults) const {
  const Settings& settings = resources_.settings;
  measure::Repetition chosen = defaults;
  chosen.timing = settings.timing.value_or(defaults.timing);
  chosen.repeat = settings.repeat.value_or(defaults.repeat);
  chosen.warmup = settings.warmup.value_or(defaults.warmup);
  // A round of `each` is as many samples as repetitions; one round is what is asked for.
  chosen.batches = settings.batches.value_or(chosen.timing == Timing::each ? 1 : defaults.batches);
  chosen.min_time_s = settings.min_time_s;
  chosen.until_ci_percent = settings.until_ci_percent;
  chosen.max_time_s = settings.max_time_s.value_or(chosen.max_time_s);
  return chosen;
}

void Run::fact(const measure::Fact& fact, measure::Value value) {
  auto& facts = record_.facts;
  const auto known =
      std::find_if(facts.begin(), facts.end(), [&](const auto& entry) { return entry.first == fact.name; });
  if (known != facts.end()) {
    known->second = std::move(value);
  } else {
    facts.emplace_back(fact.name, std::move(value));
  }
}

void Run::measure(const Measurement& measurement) {
  require_declared(measurement);
  stream_->wait();
  record_.setup_s += communicator().maximum(set_up_.seconds());
  if (resources_.settings.ceilings) measure_ceilings(measurement, std::nullopt);
  const Stopwatch stopwatch;
  sample(measurement);
  if (!resources_.settings.ceilings || record_.status != measure::Status::ok) return;
  measure_ceilings(measurement, communicator().maximum(stopwatch.seconds()));
}

void Run::measured(const std::string& operation, double seconds, const measure::CaseMetric& metric) {
  const Measurement measurement{.operation = operation, .metrics = {metric}};
  require_declared(measurement);
  record_.repetition = {.timing = Timing::each, .repeat = 1, .warmup = 0, .batches = 1};
  take({.seconds = {communicator().maximum(seconds)}}, measurement);
}

/// A metric that is not declared would stand in records without unit, direction and definition.
void Run::require_declared(const Measurement& measurement) const {
  auto metrics = measurement.metrics;
  const bool overlaps = std::any_of(measurement.parts.begin(), measurement.parts.end(),
                                    [](const Part& part) { return bool{part.operate}; });
  if (overlaps) metrics.insert(metrics.end(), {measure::hidden_communication(), measure::overlap_efficiency()});
  for (const measure::CaseMetric& metric : metrics) {
    const auto& declared = resources_.metrics;
    const bool known = std::any_of(declared.begin(), declared.end(),
                                   [&](const measure::Metric& entry) { return entry.name == metric.metric.name; });
    if (known) continue;
    throw std::logic_error(fmt::format("{} measures {}, which its BENCHMARK line does not declare", record_.benchmark,
                                       metric.metric.name));
  }
}

void Run::sample(const Measurement& measurement) {
  const Settings& settings = resources_.settings;
  measure::Sampling sampling{.repetition = repetition(measurement.repetition),
                             .limits_all = settings.max_time_s.has_value(),
                             .validate = settings.validate && measurement.verify,
                             .operations_per_round = measurement.operations_per_reset};
  sampling.repetition.warmup = std::max(sampling.repetition.warmup, measurement.least_warmup);
  if (settings.parts) {
    for (const Part& part : measurement.parts) {
      sampling.parts.push_back({.name = part.name, .stream = part.stream, .within = !part.operate});
    }
  }
  record_.repetition = sampling.repetition;

  SampledRun sampled(measurement, device(), *stream_, description_of(record_));
  RanksOf ranks(communicator());
  measure::Sampler sampler(sampled, std::move(sampling), ranks, SteadyClock::seconds);
  sampler.run();
  take_clock();
  if (settings.parts && measurement.trace && sampler.passed()) {
    sampled.status("tracing");
    sampler.trace([&](double seconds) { record_.timeline = {seconds, sampled.spans(communicator())}; });
  }
  record_.calls = sampled.calls_per_operation(communicator());
  take_page_faults(sampled);
  take(sampler.result(), measurement);
  if (sampler.passed()) take_selection(sampled);
}

void Run::take_selection(SampledRun& sampled) {
  constexpr double longest_s = 0.1;  // that once or twice more takes no time to speak of
  const auto& samples = record_.samples_s;
  const bool is_short = !samples.empty() && *std::min_element(samples.begin(), samples.end()) <= longest_s;
  const auto& calls = record_.calls;
  if (calls.empty()) {  // what MPI does not do, the ccl library may
    const auto again = [&] {
      sampled.prepare(1);
      sampled.operate(1);
    };
    if (is_short) record_.selection = transport::selected_by_ccl(again);
    return;
  }
  const auto collective =
      std::find_if(calls.begin(), calls.end(), [](const auto& call) { return transport::is_collective(call.first); });
  record_.selection = transport::selected(collective == calls.end() ? "" : collective->first);
  const bool is_named = collective != calls.end() && record_.selection.contains("pml");  // Open MPI's functions are
  if (resources_.settings.parts && is_named && ranks() > 1 && is_short)
    record_.selection.merge(sampled.collective(communicator()));
}

/// GPUs lower their clocks within milliseconds of idling: nothing may come between the samples and this.
void Run::take_clock() {
  constexpr double unknown = -std::numeric_limits<double>::infinity();
  const auto clock = device::on_gpu(memory()) ? device().clock() : std::nullopt;
  std::vector<double> largest{clock ? -clock->MHz : unknown, clock ? -clock->highest_MHz : unknown};
  for (const auto limit : all_values<device::ClockLimit>()) {
    largest.push_back(clock && clock->limits.contains(limit) ? 1 : 0);
  }
  communicator().maximum(largest);
  if (largest[0] == unknown) return;
  record_.gpu_clock = measure::GpuClock{.least_MHz = -largest[0], .highest_MHz = -largest[1], .limits = {}};
  for (std::size_t i = 2; const auto limit : all_values<device::ClockLimit>()) {
    if (largest[i++] > 0) record_.gpu_clock->limits.emplace_back(name(limit));
  }
}

void Run::take_page_faults(const SampledRun& sampled) {
  if (transport::mpi_is_simulated()) return;  // ranks are threads
  const double per_operation = sampled.page_faults_per_operation(communicator());
  if (per_operation >= 1) record_.page_faults = {.per_operation = per_operation, .seconds = page_fault_s()};
}

void Run::take(measure::Samples samples, const Measurement& measurement) {
  record_.operation = measurement.operation;
  record_.metrics = measurement.metrics;
  const bool overlaps =
      std::any_of(samples.parts.begin(), samples.parts.end(), [](const measure::Part& part) { return !part.within; });
  if (overlaps) {
    if (const auto hidden = measure::hidden_communication_of(samples.parts)) record_.metrics.push_back(*hidden);
    record_.metrics.push_back(measure::overlap_efficiency(measure::ideal_seconds(samples.parts)));
  }
  record_.samples_s = std::move(samples.seconds);
  record_.parts = std::move(samples.parts);

  measure::Validation& validation = record_.validation;
  if (samples.deviation) {  // on all ranks or on none
    validation.deviation = measure::Deviation{.largest = communicator().maximum(samples.deviation->largest),
                                              .total = communicator().sum_of_reals(samples.deviation->total)};
  }
  validation.checks = samples.checks;
  validation.exact = measurement.exact;
  validation.elements = static_cast<std::size_t>(communicator().sum(static_cast<std::int64_t>(samples.elements)));
  validation.message = samples.error;
  if (samples.error.empty()) {
    validation.status = samples.checks > 0 ? measure::ValidationStatus::passed : measure::ValidationStatus::off;
  } else {
    validation.status = measure::ValidationStatus::failed;
    record_.status = measure::Status::failed;
    record_.reason = "wrong result: " + samples.error;
  }
}

void Run::measure_ceilings(const Measurement& measurement, std::optional<double> case_s) {
  const bool after = case_s.has_value();
  Monitor::status(fmt::format("measuring the ceiling of {} over {}", record_.benchmark, record_.transport));
  for (const CeilingRequest& request : measurement.ceilings) {
    std::optional<measure::Ceiling> ceiling;
    if (const auto* copy = std::get_if<CopyCeiling>(&request)) {
      const auto peer = static_cast<std::size_t>(copy->peer);
      const auto outcome = resources_.ceilings.measure(*copy, memory(), resources_.memories.at(peer), case_s);
      ceiling = outcome.ceiling;
      if (!outcome.reason.empty()) record_.no_ceiling = outcome.reason;
    } else if (const auto* traffic = std::get_if<MemoryCeiling>(&request)) {
      ceiling = resources_.ceilings.measure(*traffic, memory(), case_s);
    } else if (const auto* gemm = std::get_if<GemmCeiling>(&request)) {
      // The benchmark's buffers have no numbers in them yet.
      if (after || gemm->gemm.a == nullptr) ceiling = resources_.ceilings.measure(*gemm, blas(), memory(), case_s);
    } else if (after) {
      ceiling = resources_.ceilings.measure(std::get<CallCeiling>(request), *stream_, *case_s);
    }
    if (ceiling && after) record_.ceilings.push_back(*ceiling);
  }
}

void require_sums(Run& run, DataType type) {
  if (run.transport().sums(type)) return;
  throw Unsupported(
      fmt::format("this transport does not sum {}; ask for another --dtype or another transport", name(type)));
}

}  // namespace commlens

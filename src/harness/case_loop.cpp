#include "harness/case_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <thread>
#include <utility>

#include "base/stopwatch.hpp"
#include "harness/environment.hpp"

namespace commlens {

namespace {

/// The launcher passes on what was shown last, and may need the cores of the ranks for that.
constexpr auto pause_before_case = std::chrono::milliseconds(2);

/// "ccl, block 732": what tells the timelines of one start apart.
std::string title_of(const measure::Record& record) {
  std::string title = record.transport;
  for (const auto& [name, value, role, unit] : record.parameters) {
    if (role == measure::Role::variant) title += ", " + measure::text_of(value);
  }
  const auto* size = record.parameter_of(measure::Role::size);
  return size == nullptr ? title : fmt::format("{}, {} {}", title, size->name, measure::text_of(size->value));
}

}  // namespace

MemoryEstimate largest_estimate(const std::vector<CaseGroup>& groups, const transport::Communicator& communicator) {
  MemoryEstimate largest;
  for (const CaseGroup& group : groups) {
    for (const auto& variant : group) {
      const MemoryEstimate estimate = variant->memory_estimate(communicator.rank(), communicator.size());
      largest.buffers = std::max(largest.buffers, estimate.buffers);
      largest.staging = std::max(largest.staging, estimate.staging);
      largest.operation = std::max(largest.operation, estimate.operation);
    }
  }
  return largest;
}

void Tally::add(std::span<const measure::Result> variants) {
  std::string skipped;
  bool some_ran = false;
  for (const measure::Result& result : variants) {
    const auto& outcome = result.outcome();
    const std::string subject = fmt::format("{} over {}", result.record().benchmark, result.record().transport);
    some_ran = some_ran || outcome.status == measure::Status::ok;
    if (outcome.status == measure::Status::failed && failed_.empty()) failed_ = subject + " failed: " + outcome.reason;
    if (outcome.status == measure::Status::skipped && skipped.empty()) {
      skipped = subject + " was skipped: " + outcome.reason;
    }
  }
  ran_ = ran_ || some_ran;
  if (!some_ran && skipped_.empty()) skipped_ = skipped;
}

Exit Tally::exit_status(bool all_optional) const {
  if (!failed_.empty()) return Exit::failed;
  return ran_ && (skipped_.empty() || all_optional) ? Exit::ok : Exit::nothing_ran;
}

CaseLoop::CaseLoop(const Parameters& parameters, std::vector<device::Memory> memories,
                   const std::vector<const transport::Description*>& transports, const MemoryEstimate& estimate)
    : parameters_(parameters),
      memories_(std::move(memories)),
      estimate_(estimate),
      setup_{.communicator = parameters.communicator,
             .device = parameters.device,
             .memory = memories_[static_cast<std::size_t>(parameters.communicator.rank())],
             .gpu_aware_mpi_off = parameters.settings.gpu_aware_mpi_off,
             .buffers = estimate.buffers + Run::slack,
             .is_named = parameters.settings.transports != "all"},
      resources_{.settings = parameters.settings,
                 .communicator = parameters.communicator,
                 .device = parameters.device,
                 .ceilings = parameters.ceilings,
                 .memories = memories_,
                 .metrics = parameters.start.benchmark.metrics,
                 .blas = [this](device::Memory memory) -> device::Blas& { return blas(memory); },
                 .retained = retained_,
                 .mpi_init_s = parameters.mpi_init_s} {
  for (const auto* description : transports) {
    participants_.push_back(
        {.description = description, .unsupported = parameters.communicator.first(description->unsupported(setup_))});
  }
}

std::size_t CaseLoop::records(const std::vector<CaseGroup>& groups) const {
  std::size_t cases = 0;
  for (const CaseGroup& group : groups) cases += group.size();
  std::size_t records = 0;
  for (const Participant& participant : participants_) {
    records += participant.unsupported.empty() ? cases : std::min<std::size_t>(cases, 1);
  }
  return records;
}

void CaseLoop::prepare() {
  make_transports();
  allocate();
}

void CaseLoop::make_transports() {
  for (Participant& participant : participants_) {
    if (!participant.unsupported.empty()) continue;
    Monitor::status(fmt::format("setting up the transport {}", participant.description->name));
    const Stopwatch stopwatch;
    try {
      participant.transport = participant.description->make(setup_);
    } catch (const std::exception& error) {
      parameters_.fail(error);
    }
    participant.setup_s = parameters_.communicator.maximum(stopwatch.seconds());
  }
}

void CaseLoop::allocate() {
  Monitor::status("allocating memory");
  const Stopwatch stopwatch;
  auto& device = parameters_.device;
  const std::size_t bytes = static_cast<std::size_t>(estimate_.buffers) + Run::slack;
  arena_ = device.allocate(setup_.memory, bytes);
  for (Participant& participant : participants_) {
    if (participant.transport) participant.arena = participant.transport->allocate(bytes);
  }
  if (estimate_.staging > 0) {
    staging_ = device.allocate(device.staging_memory(), static_cast<std::size_t>(estimate_.staging) + Run::slack);
  }
  allocation_s_ = parameters_.communicator.maximum(stopwatch.seconds());
}

measure::Record CaseLoop::start_record(const Case& variant, const Participant& participant) const {
  measure::Record record;
  record.benchmark = parameters_.start.benchmark.name;
  record.parameters = variant.parameters();
  record.ranks = parameters_.start.ranks;
  record.transport = participant.description->name;
  record.memory = name(memories_.front());
  if (memories_.back() != memories_.front()) record.memory += ":" + std::string(name(memories_.back()));
  record.setup_s = participant.setup_s + allocation_s_;
  if (!participant.unsupported.empty()) {
    record.status = measure::Status::skipped;
    record.reason = participant.unsupported;
  }
  return record;
}

void CaseLoop::run(const Case& variant, Participant& participant, measure::Record& record) {
  Monitor::status(fmt::format("setting up {} over {}", record.benchmark, record.transport));
  std::this_thread::sleep_for(pause_before_case);
  try {
    const device::Buffer& arena = participant.arena.data() != nullptr ? participant.arena : arena_;
    Run run(resources_, *participant.transport, {arena}, {staging_}, record);
    variant.run(run);
    record.interference = parameters_.interference.read(record.samples_s.size());
  } catch (const Unsupported& unsupported) {
    record.status = measure::Status::skipped;
    record.reason = unsupported.what();
  } catch (const std::exception& error) {
    parameters_.fail(error);
  }
}

void CaseLoop::run(const CaseGroup& group) {
  std::vector<measure::Result> results;
  for (Participant& participant : participants_) {
    const std::size_t before = results.size();
    for (const auto& variant : group) {
      if (participant.is_recorded) continue;
      auto record = start_record(*variant, participant);
      participant.is_recorded = !participant.unsupported.empty();
      if (participant.unsupported.empty()) run(*variant, participant, record);
      const bool skipped = record.status == measure::Status::skipped;
      if (skipped && !results.empty()) record.repetition = results.front().record().repetition;
      record.time = utc_now();
      results.emplace_back(std::move(record));
      keep(results);
      if (parameters_.timeline_file != nullptr) {
        parameters_.timeline_file->add(title_of(results.back().record()), results.back().record().timeline);
      }
    }
    tally_.add(std::span(results).subspan(before));
  }
  if (parameters_.output != nullptr) parameters_.output->show(results);
  parameters_.monitor.shown();
}

/// A full disk ends the run, but not before what has been measured is shown.
void CaseLoop::keep(std::span<const measure::Result> results) const {
  if (parameters_.output == nullptr) return;
  try {
    parameters_.output->keep(results.back());
  } catch (const measure::RecordFileError&) {
    parameters_.output->show(results);
    parameters_.output->end();
    throw;
  }
}

device::Blas& CaseLoop::blas(device::Memory memory) {
  auto& blas = blas_[memory];
  if (!blas) {
    blas = parameters_.device.blas(memory, parameters_.blas_threads);
    if (parameters_.communicator.rank() == 0 && !blas->advice().empty()) {
      std::cerr << "commlens: warning: " << blas->advice() << '\n';
    }
  }
  return *blas;
}

Exit CaseLoop::exit_status() const {
  const Exit exit = tally_.exit_status(parameters_.settings.transports == "all");
  if (exit != Exit::ok && parameters_.communicator.rank() == 0) {
    std::cerr << fmt::format("commlens: {}\n",
                             tally_.complaint());  // in one piece: launchers interleave what ranks write
  }
  return exit;
}

}  // namespace commlens

#include "harness/session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "harness/environment.hpp"
#include "harness/placement.hpp"

namespace commlens {

Session::Session(Settings settings, std::unique_ptr<device::Device> device, std::vector<std::string> command,
                 double mpi_init_s)
    : settings_(std::move(settings)),
      mpi_init_s_(mpi_init_s),
      communicator_(MPI_COMM_WORLD),
      node_(communicator_.node()),
      device_(std::move(device)),
      monitor_(std::make_unique<Monitor>(communicator_, node_, settings_.timeout_s)) {
  describe_start(std::move(command));
  ceilings_ = std::make_unique<Ceilings>(communicator_, *device_, start_.placement);
  interference_ = std::make_unique<InterferenceWatch>(communicator_, node_, *device_, start_.placement);
  open_output();
}

void Session::describe_start(std::vector<std::string> command) {
  placement_ = placement_of(communicator_.rank(), device_->gpu());
  start_.placement = gather_placement(communicator_, placement_);
  for (const std::string& process : communicator_.gather(std::to_string(getpid()))) {
    start_.processes.push_back(std::stoi(process));
  }
  // Between ranks a core is left to MPI, where there is one to spare.
  const int cores = core_share(start_.placement, communicator_.rank());
  blas_threads_ = communicator_.size() > 1 && cores > 1 ? cores - 1 : cores;
  start_.id = communicator_.broadcast(start_identifier());
  start_.time = utc_now();
  start_.backend = device::backend();
  start_.ranks = communicator_.size();
  start_.nodes = static_cast<int>(communicator_.sum(node_.rank() == 0 ? 1 : 0));
  for (const auto& transport : transport::all()) start_.transports.push_back(transport.name);
  start_.versions = versions(device_->gpu() != nullptr);
  start_.environment = communication_environment();
  start_.settings = transport_settings(start_.environment);
  start_.command = std::move(command);
}

void Session::open_output() {
  std::string problem;
  if (communicator_.rank() == 0) {
    problem = problem_of<measure::RecordFileError>(
        [&] { output_ = std::make_unique<Output>(settings_.record, settings_.format); });
  }
  problem = communicator_.first(problem);
  if (!problem.empty()) throw UsageError("record", settings_.record, problem);
}

std::vector<device::Memory> Session::choose_memories(const Benchmark& benchmark) const {
  std::vector<device::Memory> memories;
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    memories.push_back(benchmark.memory(rank, communicator_.size(), settings_.chosen_memory()));
  }
  const auto mine = memories[static_cast<std::size_t>(communicator_.rank())];
  std::string problem;
  if (!device_->has(mine)) {
    problem = fmt::format("rank {} has no GPU for {} memory; {}", communicator_.rank(), name(mine),
                          device::backend() == "host" ? "this build has the host backend only: use --memory host, or "
                                                        "configure with the preset cuda or hip"
                                                      : "no GPU is visible here: use --memory host");
  }
  problem = communicator_.first(problem);
  if (problem.empty()) return memories;
  const std::string refused = communicator_.first(device_->has(mine) ? "" : std::string(name(mine)));
  std::string option = "memory";
  for (const Option& candidate : benchmark.options().options()) {
    if (candidate.text() == refused) option = candidate.name();  // --from or --to rather than --memory
  }
  throw UsageError(option, refused, problem);
}

std::vector<const transport::Description*> Session::choose_transports() const {
  std::vector<const transport::Description*> chosen;
  const auto& all = transport::all();
  if (settings_.transports == "all") {
    for (const auto& transport : all) chosen.push_back(&transport);
    return chosen;
  }
  for (const std::string& wanted : split(settings_.transports, ',')) {
    chosen.push_back(
        &*std::find_if(all.begin(), all.end(), [&](const auto& transport) { return transport.name == wanted; }));
  }
  return chosen;
}

void Session::require_memory(const Benchmark& benchmark, const MemoryPlan& plan, const MemoryEstimate& estimate,
                             const std::vector<const transport::Description*>& transports) {
  double staging = 0;
  for (const auto* transport : transports) staging = std::max(staging, transport->staging(estimate.operation));
  const std::string problem = plan.refusal(estimate, staging);
  if (problem.empty()) return;
  const Option* size = benchmark.options().size();
  if (size == nullptr) throw UsageError(problem);
  const bool swept = size->role() == measure::Role::size;
  throw UsageError(size->name(), swept ? std::to_string(benchmark.options().sweep()->largest()) : size->text(),
                   problem);
}

std::unique_ptr<TimelineFile> Session::open_timeline(const std::string& path) const {
  if (path.empty()) return nullptr;
  if (!settings_.parts) throw UsageError("timeline", path, "--no-parts leaves the timeline out: give one of the two");
  std::unique_ptr<TimelineFile> file;
  std::string problem;
  if (communicator_.rank() == 0) {
    std::error_code none;
    const bool same = !settings_.record.empty() && std::filesystem::equivalent(path, settings_.record, none);
    problem = same ? "it is the file of --record; name another one"
                   : problem_of([&] { file = std::make_unique<TimelineFile>(path); });
  }
  problem = communicator_.first(problem);
  if (!problem.empty()) throw UsageError("timeline", path, problem);
  return file;
}

Exit Session::execute(Benchmark& benchmark) {
  const auto transports = choose_transports();
  std::vector<std::string> hosts;
  for (const measure::Placement& place : start_.placement) hosts.push_back(place.host);
  benchmark.resolve(communicator_.size(), hosts);
  const auto memories = choose_memories(benchmark);
  const MemoryPlan plan(communicator_, node_, *device_, memories[static_cast<std::size_t>(communicator_.rank())]);
  start_.notes = benchmark.scale_to_memory(plan.budget(), communicator_.size());
  const auto cases = benchmark.cases();
  const MemoryEstimate estimate = largest_estimate(cases, communicator_);
  require_memory(benchmark, plan, estimate, transports);
  const auto timeline = open_timeline(benchmark.options().timeline());
  start_.benchmark = benchmark.declaration();
  CaseLoop loop({.settings = settings_,
                 .communicator = communicator_,
                 .device = *device_,
                 .monitor = *monitor_,
                 .ceilings = *ceilings_,
                 .interference = *interference_,
                 .start = start_,
                 .output = output_.get(),
                 .timeline_file = timeline.get(),
                 .blas_threads = blas_threads_,
                 .mpi_init_s = mpi_init_s_,
                 .fail = [this](const std::exception& error) { fail(error); }},
                memories, transports, estimate);
  start_.records = loop.records(cases);
  if (output_) output_->begin(start_);
  loop.prepare();
  for (const CaseGroup& group : cases) loop.run(group);
  if (output_) output_->end();
  return loop.exit_status();
}

/// An error may be this rank's alone, and the others wait for it somewhere. So it is said, and all are ended, while
/// transports and streams still stand: taking them down could wait for the others in turn.
void Session::fail(const std::exception& error) {
  const auto* gpu = device_->gpu();
  monitor_->abort(fmt::format("rank {} ({}{}): {}", placement_.rank, placement_.host,
                              gpu != nullptr ? fmt::format(", GPU {}", gpu->ordinal) : "", error.what()),
                  static_cast<int>(Exit::failed));
}

}  // namespace commlens

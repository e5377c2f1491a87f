#include "harness/session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>

#include "harness/environment.hpp"
#include "harness/placement.hpp"
#include "harness/usage_error.hpp"
#include "measure/reporter.hpp"

namespace commlens {

using Clock = std::chrono::steady_clock;

namespace {

constexpr double share_that_fits = 0.95;  ///< of the free memory: MPI and the GPU's runtime want some too

/// "ccl, block 732": what tells the timelines of one start apart.
std::string title_of(Benchmark& benchmark, const measure::Record& record) {
  const OptionSet& options = benchmark.options();
  std::string title = record.transport;
  if (!record.variant.empty()) title += ", " + options.variants()->current;
  if (options.sweep() == nullptr || options.sweep()->none()) return title;
  return fmt::format("{}, {} {}", title, options.sweep_name(), options.sweep()->current);
}

}  // namespace

/// Reporter and record file: on rank 0 alone.
class Session::Output {
 public:
  Output(const Session& session, const Settings& settings) : session_(session) {
    if (!settings.record.empty()) file_.emplace(settings.record);
    const auto& all = measure::reporters();
    const auto chosen =
        std::find_if(all.begin(), all.end(), [&](const auto& reporter) { return reporter.name == settings.format; });
    reporter_ = chosen->make(std::cout);
  }

  void begin() { reporter_->begin(session_.information_); }

  /// To the file first: what is on the screen is kept.
  void keep(const measure::Record& record) {
    if (file_) file_->append(measure::to_json(session_.information_, record));
  }

  void show(std::span<const measure::Record> group) { reporter_->add(session_.information_, group); }

  void end() {
    reporter_->end();
    std::cout.flush();
    if (!std::cout) throw Error("standard output cannot be written");
  }

 private:
  const Session& session_;
  std::optional<measure::RecordFile> file_;
  std::unique_ptr<measure::Reporter> reporter_;
};

Session::Session(Settings settings, std::unique_ptr<device::Device> device, std::vector<std::string> command)
    : settings_(std::move(settings)),
      communicator_(MPI_COMM_WORLD),
      node_(communicator_.node()),
      device_(device ? std::move(device) : open_own_device(node_.rank())) {
  monitor_ = std::make_unique<Monitor>(communicator_, node_, settings_.timeout_s);
  const auto mine = placement_of(communicator_.rank(), device_->gpu());
  ceilings_ = std::make_unique<Ceilings>(communicator_, *device_, mine.host);
  information_.run = communicator_.broadcast(run_identifier());
  information_.backend = device::backend();
  information_.ranks = communicator_.size();
  information_.nodes = static_cast<int>(communicator_.sum(node_.rank() == 0 ? 1 : 0));
  information_.placement = gather_placement(communicator_, mine);
  information_.warnings = placement_warnings(information_.placement);
  information_.versions = versions();
  information_.environment = communication_environment();
  information_.command = std::move(command);

  std::string problem;
  if (communicator_.rank() == 0) {
    try {
      output_ = std::make_unique<Output>(*this, settings_);
    } catch (const measure::RecordFileError& error) {
      problem = error.what();
    }
  }
  problem = communicator_.first(problem);
  if (!problem.empty()) throw UsageError("record", settings_.record, problem);
}

Session::~Session() = default;

void Session::choose_memories(Benchmark& benchmark) {
  memories_.clear();
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    memories_.push_back(benchmark.memory(rank, communicator_.size(), settings_.chosen_memory()));
  }
  const auto mine = memory_of(communicator_.rank());
  std::string problem;
  if (!device_->has(mine)) {
    problem = fmt::format("rank {} has no GPU for {} memory; {}", communicator_.rank(), name(mine),
                          device::backend() == "host" ? "this build has the host backend only: use --memory host, or "
                                                        "configure with the preset cuda or hip"
                                                      : "no GPU is visible here: use --memory host");
  }
  problem = communicator_.first(problem);
  if (problem.empty()) return;
  const std::string refused = communicator_.first(device_->has(mine) ? "" : std::string(name(mine)));
  std::string option = "memory";
  for (const auto& one : benchmark.options().options()) {
    if (one.text() == refused) option = one.name;  // --from or --to rather than --memory
  }
  throw UsageError(option, refused, problem);
}

std::vector<const transport::Kind*> Session::chosen_kinds() const {
  std::vector<const transport::Kind*> chosen;
  const auto& all = transport::kinds();
  if (settings_.transports == "all") {
    for (const auto& kind : all) chosen.push_back(&kind);
    return chosen;
  }
  std::stringstream names(settings_.transports);
  for (std::string wanted; std::getline(names, wanted, ',');) {
    const auto kind = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == wanted; });
    if (kind == all.end()) {
      std::vector<std::string> known;
      for (const auto& one : all) known.push_back(one.name);
      throw UsageError("transport", settings_.transports,
                       fmt::format("no transport '{}'; there are {}, or all", wanted, fmt::join(known, ", ")));
    }
    if (std::find(chosen.begin(), chosen.end(), &*kind) == chosen.end()) chosen.push_back(&*kind);
  }
  if (chosen.empty()) throw UsageError("transport", "''", "name at least one transport, or all");
  return chosen;
}

Footprint Session::largest_footprint(Benchmark& benchmark) const {
  Sweep* sweep = benchmark.options().sweep();
  if (sweep != nullptr && !sweep->values.empty()) {
    sweep->current = *std::max_element(sweep->values.begin(), sweep->values.end());
  }
  return benchmark.footprint(communicator_.rank(), communicator_.size());
}

std::string Session::store_of(device::Memory memory) const { return on_gpu(memory) ? device_->gpu()->uuid : "host"; }

double Session::free_bytes(device::Memory memory) const {
  return share_that_fits * static_cast<double>(device_->available(memory));
}

Room Session::room() const {
  const auto memory = memory_of(communicator_.rank());
  const std::string store = store_of(memory);
  const auto stores = node_.gather(store);
  const auto sharers = static_cast<double>(std::count(stores.begin(), stores.end(), store));
  std::vector<double> free{-free_bytes(memory) / sharers, -free_bytes(device::Memory::host) / node_.size()};
  communicator_.maximum(free);
  return {.buffers = -free[0], .host = -free[1], .on_gpu = on_gpu(memory)};
}

void Session::require_memory(Benchmark& benchmark, const std::vector<const transport::Kind*>& kinds) const {
  const auto memory = memory_of(communicator_.rank());
  const Footprint footprint = largest_footprint(benchmark);
  double staging = 0;
  for (const auto* kind : kinds) staging = std::max(staging, kind->staging(footprint.operation));
  staging += footprint.staging;

  // Who shares what: a GPU is shared by the ranks that see its uuid, the host by those of the node.
  const std::string store = store_of(memory);
  std::map<std::string, double> wanted;
  for (const std::string& line : node_.gather(fmt::format("{} {}\nhost {}", store, footprint.buffers, staging))) {
    std::istringstream stream(line);
    double bytes = 0;
    for (std::string key; stream >> key >> bytes;) wanted[key] += bytes;
  }
  std::string problem;
  const auto check = [&](const std::string& key, device::Memory kind, const std::string& what) {
    const double free = free_bytes(kind);
    if (wanted[key] <= free) return;
    problem = fmt::format("needs {} of {} for the ranks that share it, {} for rank {}; {} are free: ask for less",
                          binary_bytes(wanted[key]), what, binary_bytes(footprint.buffers + staging),
                          communicator_.rank(), binary_bytes(free));
  };
  check("host", device::Memory::host, "host memory");
  if (on_gpu(memory)) check(store, device::Memory::device, "GPU memory");
  problem = communicator_.first(problem);
  if (problem.empty()) return;
  const auto* size = benchmark.options().size();
  if (size == nullptr) throw UsageError(problem);
  const auto value = size->value().value_or(std::int64_t{0});
  const auto* number = std::get_if<std::int64_t>(&value);
  throw UsageError(size->name, number != nullptr ? std::to_string(*number) : size->text(), problem);
}

std::vector<Session::Carrier> Session::make_carriers(const std::vector<const transport::Kind*>& kinds) {
  const transport::Surroundings surroundings{.communicator = communicator_,
                                             .device = *device_,
                                             .memory = memory_of(communicator_.rank()),
                                             .gpu_aware_mpi_off = settings_.gpu_aware_mpi_off};
  std::vector<Carrier> carriers;
  for (const auto* kind : kinds) {
    Carrier carrier;
    carrier.kind = kind;
    carrier.unfit = communicator_.first(kind->unfit(surroundings));
    if (carrier.unfit.empty()) {
      Monitor::doing(fmt::format("setting up the transport {}", kind->name));
      const auto start = Clock::now();
      try {
        carrier.transport = kind->make(surroundings);
      } catch (const std::exception& error) {
        fail(error);
      }
      carrier.setup_s = communicator_.maximum(std::chrono::duration<double>(Clock::now() - start).count());
    }
    carriers.push_back(std::move(carrier));
  }
  return carriers;
}

std::string Session::memory_text() const {
  const std::string first(name(memories_.front()));
  const std::string last(name(memories_.back()));
  return first == last ? first : first + ":" + last;
}

measure::Record Session::start_record(Benchmark& benchmark, const std::string& benchmark_name,
                                      const Carrier& carrier) const {
  measure::Record record;
  record.benchmark = benchmark_name;
  record.parameters = benchmark.options().parameters();
  const Variants* variants = benchmark.options().variants();
  if (variants != nullptr && variants->chosen.size() > 1) record.variant = benchmark.options().variants_name();
  record.transport = carrier.kind->name;
  record.memory = memory_text();
  record.setup_s = carrier.setup_s + allocation_s_;
  if (!carrier.unfit.empty()) {
    record.status = measure::Status::skipped;
    record.reason = carrier.unfit;
  }
  return record;
}

void Session::allocate(Benchmark& benchmark) {
  Monitor::doing("allocating memory");
  const auto start = Clock::now();
  arena_ = {};  // given back first: old and new need not fit together
  staging_ = {};
  const Footprint footprint = largest_footprint(benchmark);
  arena_ = device_->allocate(memory_of(communicator_.rank()), static_cast<std::size_t>(footprint.buffers) + Run::slack);
  if (footprint.staging > 0) {
    staging_ = device_->allocate(device_->staging_memory(), static_cast<std::size_t>(footprint.staging) + Run::slack);
  }
  allocation_s_ = communicator_.maximum(std::chrono::duration<double>(Clock::now() - start).count());
}

void Session::run_case(Benchmark& benchmark, Carrier& carrier, measure::Record& record) {
  const int rank = communicator_.rank();
  const Footprint footprint = benchmark.footprint(rank, communicator_.size());
  Monitor::doing(fmt::format("setting up {} over {}", record.benchmark, record.transport));
  try {
    Run run(*this, *carrier.transport, {arena_, static_cast<std::size_t>(footprint.buffers)},
            {staging_, static_cast<std::size_t>(footprint.staging)}, record);
    benchmark.run(run);
  } catch (const Unfit& unfit) {
    record.status = measure::Status::skipped;
    record.reason = unfit.what();
  } catch (const std::exception& error) {
    fail(error);
  }
}

/// An error may be this rank's alone, and the others wait for it somewhere. So it is said, and all are ended, while
/// transports and streams still stand: taking them down could wait for the others in turn.
void Session::fail(const std::exception& error) {
  const auto* gpu = device_->gpu();
  const auto& mine = information_.placement.at(static_cast<std::size_t>(communicator_.rank()));
  monitor_->abort(fmt::format("rank {} ({}{}): {}", mine.rank, mine.host,
                              gpu != nullptr ? fmt::format(", GPU {}", gpu->ordinal) : "", error.what()),
                  static_cast<int>(Exit::failed));
}

/// What the exit status and its one line on the standard error are made of.
struct Session::Tally {
  bool ran = false;
  std::string failed;   ///< the first failure in words
  std::string skipped;  ///< the first transport over which no variant of a case could run

  /// The variants of a case over one transport: one that ran excuses those that cannot.
  void add(std::span<const measure::Record> variants) {
    std::string unfit;
    bool some_ran = false;
    for (const measure::Record& record : variants) {
      const auto outcome = measure::outcome_of(record);
      const std::string what = fmt::format("{} over {}", record.benchmark, record.transport);
      some_ran = some_ran || outcome.status == measure::Status::ok;
      if (outcome.status == measure::Status::failed && failed.empty()) failed = what + " failed: " + outcome.reason;
      if (outcome.status == measure::Status::skipped && unfit.empty()) unfit = what + " was skipped: " + outcome.reason;
    }
    ran = ran || some_ran;
    if (!some_ran && skipped.empty()) skipped = unfit;
  }
};

Exit Session::execute(Benchmark& benchmark, const std::string& benchmark_name) {
  const auto kinds = chosen_kinds();
  benchmark.settle(communicator_.size());
  choose_memories(benchmark);
  information_.notes = benchmark.fit(room(), communicator_.size());
  require_memory(benchmark, kinds);
  open_trace(benchmark.options().trace());
  auto carriers = make_carriers(kinds);
  allocate(benchmark);
  if (output_) output_->begin();

  Tally tally;
  Sweep* sweep = benchmark.options().sweep();
  if (sweep == nullptr || sweep->values.empty()) {
    run_group(benchmark, benchmark_name, carriers, tally);
  } else {
    for (const std::size_t value : sweep->values) {
      sweep->current = value;
      run_group(benchmark, benchmark_name, carriers, tally);
    }
  }
  if (output_) output_->end();
  return conclude(tally);
}

void Session::run_group(Benchmark& benchmark, const std::string& benchmark_name, std::vector<Carrier>& carriers,
                        Tally& tally) {
  std::vector<measure::Record> group;
  const auto run_over = [&](Carrier& carrier) {
    auto record = start_record(benchmark, benchmark_name, carrier);
    carrier.told = !carrier.unfit.empty();
    if (carrier.unfit.empty()) run_case(benchmark, carrier, record);
    if (record.status == measure::Status::skipped && !group.empty()) record.repetition = group.front().repetition;
    record.time = utc_now();
    if (output_) output_->keep(record);
    if (trace_file_) trace_file_->add(title_of(benchmark, record), record.timeline);
    group.push_back(std::move(record));
  };
  Variants* variants = benchmark.options().variants();
  for (Carrier& carrier : carriers) {
    const std::size_t before = group.size();
    for (const std::string& variant : variants != nullptr ? variants->chosen : std::vector<std::string>{""}) {
      if (carrier.told) continue;
      if (variants != nullptr) variants->current = variant;
      run_over(carrier);
    }
    tally.add(std::span(group).subspan(before));
  }
  if (output_) output_->show(group);
  monitor_->shown();
}

void Session::open_trace(const std::string& path) {
  if (path.empty()) return;
  if (!settings_.parts) throw UsageError("trace", path, "--no-parts leaves the timeline out: give one of the two");
  std::string problem;
  if (communicator_.rank() == 0) {
    std::error_code none;
    const bool same = !settings_.record.empty() && std::filesystem::equivalent(path, settings_.record, none);
    if (same) problem = "it is the file of --record; name another one";
    try {
      if (!same) trace_file_ = std::make_unique<TraceFile>(path);
    } catch (const Error& error) {
      problem = error.what();
    }
  }
  problem = communicator_.first(problem);
  if (!problem.empty()) throw UsageError("trace", path, problem);
}

device::Blas& Session::blas(device::Memory memory) {
  auto& blas = blas_[memory];
  if (!blas) {
    // Between ranks a core is left to MPI, where there is one to spare.
    const int cores = core_share(information_.placement, communicator_.rank());
    blas = device_->blas(memory, communicator_.size() > 1 && cores > 1 ? cores - 1 : cores);
    information_.versions["blas"] = blas->library();
    if (communicator_.rank() == 0 && !blas->advice().empty()) {
      std::cerr << "commlens: warning: " << blas->advice() << '\n';
    }
  }
  return *blas;
}

Exit Session::conclude(const Tally& tally) const {
  const bool all_asked_for_ran = tally.skipped.empty() || settings_.transports == "all";
  const bool well = tally.failed.empty() && tally.ran && all_asked_for_ran;
  if (!well && communicator_.rank() == 0) {
    std::cerr << "commlens: " << (tally.failed.empty() ? tally.skipped : tally.failed) << '\n';
  }
  if (!tally.failed.empty()) return Exit::failed;
  return well ? Exit::ok : Exit::nothing_ran;
}

}  // namespace commlens

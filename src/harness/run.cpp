#include "harness/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "harness/session.hpp"
#include "harness/tracer.hpp"
#include "transport/activity.hpp"
#include "transport/mpi_calls.hpp"

namespace commlens {

using Clock = std::chrono::steady_clock;
using measure::Timing;

namespace {

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr std::size_t most_samples = 1'000'000;  ///< kept in a record: 8 MB

}  // namespace

/// The repetition of one measurement: the only code between two readings of the clock is in timed().
class Run::Meter {
 public:
  Meter(Run& run, const Measurement& measurement)
      : run_(run),
        measurement_(measurement),
        communicator_(run.session_.communicator()),
        validate_(run.session_.settings().validate) {
    if (!run.session_.settings().parts) return;
    for (const Part& part : measurement.parts) {
      parts_.push_back({.name = part.name, .stream = part.stream, .samples_s = {}, .within = part.operate == nullptr});
    }
  }

  void run() {
    const auto& repetition = measurement_.repetition;
    say("warming up");
    for (std::size_t left = repetition.warmup; left > 0 && right();) left -= pass(left).operations;
    counting_ = true;
    const auto start = Clock::now();
    for (std::size_t batch = 0; right() && more(batch, start); ++batch) {
      say(fmt::format("timing (batch {})", batch + 1));
      repetition.timing == Timing::batch ? time_batch() : time_each();
      time_parts();
    }
    if (right() && measurement_.trace && run_.session_.settings().parts) trace();
    conclude();
  }

 private:
  struct Pass {
    std::size_t operations = 0;
    double seconds = 0;  ///< on this rank
  };

  [[nodiscard]] bool right() const { return wrong_.empty(); }

  void say(const std::string& what) {
    const auto& record = run_.record_;
    std::string parameters;
    for (const auto& [name, value] : record.parameters) {
      const auto* number = std::get_if<std::int64_t>(&value);
      const auto* word = std::get_if<std::string>(&value);
      if (number != nullptr && (name == "bytes" || name == "count"))
        parameters += fmt::format(", {} {}", name, *number);
      if (word != nullptr && name == record.variant) parameters += fmt::format(", {} {}", name, *word);
    }
    Monitor::doing(
        fmt::format("{} {} over {}{}, {} memory", what, record.benchmark, record.transport, parameters, record.memory));
  }

  /// Whether another batch is due: decided from times that are equal on all ranks.
  [[nodiscard]] bool more(std::size_t batches_done, Clock::time_point start) {
    const auto& repetition = measurement_.repetition;
    const auto& settings = run_.session_.settings();
    if (batches_done < repetition.batches) return true;
    if (repetition.min_time_s <= 0 && repetition.until_ci_percent <= 0) return false;
    if (samples_.size() >= most_samples) return false;
    if (communicator_.maximum(seconds_since(start)) > settings.max_time_s) return false;
    if (measured_s_ < repetition.min_time_s) return true;
    if (repetition.until_ci_percent <= 0) return false;
    const auto width = relative_half_width(measure::summarize(samples_));
    return !width || *width * 100 > repetition.until_ci_percent;
  }

  /// Up to `wanted` operations between two readings of the clock, from fresh inputs, validated afterwards.
  Pass pass(std::size_t wanted) {
    const std::size_t operations = std::min(wanted, measurement_.operations_per_reset);
    ++round_;
    fill();
    const CallCounts before = call_counts();
    const Pass result{operations, timed(measurement_.operate, operations)};
    if (counting_) count_calls(before, operations);
    validate(operations);
    return result;
  }

  /// Inputs of gigabytes take their time: both this and validate() count as progress.
  void fill() {
    const InCall call(Call::filling);
    if (measurement_.reset) measurement_.reset(round_);
    run_.stream().wait();
    activity().operations.fetch_add(1, std::memory_order_relaxed);
  }

  double timed(const std::function<void()>& operate, std::size_t operations) {
    auto& stream = run_.stream();
    communicator_.barrier();
    const auto start = Clock::now();
    for (std::size_t i = 0; i < operations; ++i) {
      operate();
      alive();
    }
    stream.wait();
    return seconds_since(start);
  }

  void count_calls(const CallCounts& before, std::size_t operations) {
    for (std::size_t call = 0; call < before.size(); ++call)
      calls_.at(call) += call_counts().at(call) - before.at(call);
    counted_ += operations;
  }

  void validate(std::size_t operations) {
    if (!validate_ || !measurement_.verify) return;
    const InCall call(Call::comparing);
    const Verdict verdict = measurement_.verify(round_, operations);
    activity().operations.fetch_add(1, std::memory_order_relaxed);
    ++checks_;
    elements_ += verdict.elements;
    // Agreeing on the verdict is left to collect(): the ranks meet there anyway.
    if (!verdict.error.empty() && mine_.empty()) {
      mine_ = fmt::format("rank {}, after {} operation{}: {}", communicator_.rank(), operations,
                          operations == 1 ? "" : "s", verdict.error);
    }
    if (!verdict.deviation) return;
    if (!deviation_) deviation_.emplace();
    deviation_->largest = std::max(deviation_->largest, verdict.deviation->largest);
    deviation_->total = std::max(deviation_->total, verdict.deviation->total);
  }

  void time_batch() {
    const std::size_t repeat = measurement_.repetition.repeat;
    double seconds = 0;
    for (std::size_t left = repeat; left > 0;) {
      const Pass part = pass(left);
      seconds += part.seconds;
      left -= part.operations;
    }
    std::vector<double> sample{seconds / static_cast<double>(repeat)};
    collect(sample, static_cast<double>(repeat));
  }

  void time_each() {
    std::vector<double> samples;
    for (std::size_t i = 0; i < measurement_.repetition.repeat; ++i) samples.push_back(pass(1).seconds);
    collect(samples, 1);
  }

  /// In turns with the whole, so that clocks and temperature are the same for all of them. Results are not compared:
  /// what is reduced or copied alone is whatever lies there.
  void time_parts() {
    if (!right()) return;
    const bool within = std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part.within; });
    if (within) time_parts_within();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].within) continue;
      parts_[i].samples_s.push_back(alone(measurement_.parts[i].operate));
    }
  }

  /// Seconds of a part, timed as the whole is: what lies between two synchronizations is the same for both.
  double alone(const std::function<void()>& operate) {
    const bool each = measurement_.repetition.timing == Timing::each;
    const std::size_t repeat = measurement_.repetition.repeat;
    double seconds = 0;
    for (std::size_t i = 0; i < (each ? repeat : 1); ++i) {
      seconds += communicator_.maximum(timed(operate, each ? 1 : repeat));
    }
    return seconds / static_cast<double>(repeat);
  }

  void trace() {
    say("tracing");
    auto& timeline = run_.record_.timeline;
    timeline.seconds = traced_operation([&](Tracer& tracer) { timeline.spans = tracer.spans(communicator_); });
  }

  /// Its seconds, the largest over the ranks. `read` is given what was traced.
  double traced_operation(const std::function<void(Tracer&)>& read) {
    ++round_;
    fill();
    communicator_.barrier();
    Tracer tracer(run_.session_.device(), run_.stream());
    const auto start = Clock::now();
    measurement_.trace(tracer);
    run_.stream().wait();
    const double seconds = communicator_.maximum(seconds_since(start));
    read(tracer);
    validate(1);
    return seconds;
  }

  /// Operations of their own, next to those that are timed as a whole: looking at the clock between the steps takes
  /// time. Of a part the steps of each rank are added up, and the mean over the ranks is taken: a rank that waits in
  /// one part works in another, so that of the largest the sum would exceed the whole.
  void time_parts_within() {
    constexpr std::size_t most = 20;
    constexpr double long_enough_s = 2;
    double spent = 0;  // equal on all ranks
    for (std::size_t i = 0; i < std::min(most, measurement_.repetition.repeat) && spent < long_enough_s; ++i) {
      std::map<std::string, double> mine;
      spent += traced_operation([&](Tracer& tracer) { mine = tracer.seconds(); });
      for (measure::Part& part : parts_) {
        if (part.within) part.samples_s.push_back(communicator_.sum_of_reals(mine[part.name]) / run_.ranks());
      }
      alive();
    }
  }

  /// Makes the largest over the ranks of each sample a sample of the record.
  void collect(std::vector<double>& samples, double operations_a_sample) {
    communicator_.maximum(samples);
    samples_.insert(samples_.end(), samples.begin(), samples.end());
    for (const double sample : samples) measured_s_ += sample * operations_a_sample;
    wrong_ = communicator_.first(mine_);
  }

  void conclude() {
    auto& record = run_.record_;
    if (wrong_.empty()) wrong_ = communicator_.first(mine_);  // from the warm-up
    record.repetition = measurement_.repetition;
    record.operation = measurement_.operation;
    record.samples_s = samples_;
    record.figures = measurement_.figures;
    std::erase_if(parts_, [](const measure::Part& part) { return part.samples_s.empty(); });  // it ended before
    const bool overlaps = std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return !part.within; });
    if (overlaps) {
      const double ideal = measure::ideal_seconds(parts_);
      record.figures.push_back(
          {"overlap_efficiency", measure::Better::higher, [ideal](double s) { return ideal / s; }});
    }
    record.parts = std::move(parts_);
    conclude_calls();
    if (deviation_) {  // on all ranks or on none
      record.validation.deviation = measure::Deviation{.largest = communicator_.maximum(deviation_->largest),
                                                       .total = communicator_.sum_of_reals(deviation_->total)};
    }
    record.validation.checks = checks_;
    record.validation.exact = measurement_.exact;
    record.validation.elements = static_cast<std::size_t>(communicator_.sum(static_cast<std::int64_t>(elements_)));
    record.validation.message = wrong_;
    if (!wrong_.empty()) {
      record.validation.status = measure::ValidationStatus::failed;
      record.status = measure::Status::failed;
      record.reason = "wrong result: " + wrong_;
    } else {
      record.validation.status = checks_ > 0 ? measure::ValidationStatus::passed : measure::ValidationStatus::off;
    }
  }

  void conclude_calls() {
    if (counted_ == 0) return;
    for (std::size_t call = 0; call < calls_.size(); ++call) {
      const std::string name = commlens::name(static_cast<Call>(call));
      const auto total = communicator_.sum(static_cast<std::int64_t>(calls_[call]));
      if (total == 0 || !name.starts_with("MPI_")) continue;
      run_.record_.calls[name] = static_cast<double>(total) / static_cast<double>(counted_) / run_.ranks();
    }
  }

  Run& run_;
  const Measurement& measurement_;
  const transport::Communicator& communicator_;
  bool validate_;
  std::vector<measure::Part> parts_;
  std::vector<double> samples_;
  double measured_s_ = 0;
  std::size_t round_ = 0;
  std::size_t checks_ = 0;
  std::size_t elements_ = 0;
  std::optional<measure::Deviation> deviation_;  ///< the largest of this rank's
  bool counting_ = false;
  CallCounts calls_{};
  std::size_t counted_ = 0;  ///< operations, whose calls they are
  std::string mine_;         ///< this rank's first wrong element
  std::string wrong_;        ///< the lowest rank's: equal on all
};

device::Buffer Run::Storage::take(std::size_t bytes, const std::string& benchmark) {
  const std::size_t rounded = (bytes + page - 1) / page * page;
  if (bytes > limit) {
    throw std::logic_error(
        fmt::format("{} asks for {} bytes beyond the footprint that it declared", benchmark, bytes - limit));
  }
  limit -= bytes;
  std::byte* const start = arena.as<std::byte>() + used;
  used += rounded;
  if (used > arena.bytes()) throw std::logic_error(benchmark + " asks for more buffers than Run::slack allows");
  return {start, bytes, arena.memory(), [](void*) noexcept {}};
}

Run::Run(Session& session, transport::Transport& transport, Storage buffers, Storage staging, measure::Record& record)
    : session_(session),
      transport_(transport),
      buffers_(buffers),
      staging_(staging),
      stream_(session.device().stream(buffers.arena.memory())),
      record_(record),
      created_(Clock::now()) {}

Run::~Run() = default;

int Run::rank() const { return session_.communicator().rank(); }
int Run::ranks() const { return session_.communicator().size(); }

device::Buffer Run::buffer(std::size_t bytes) { return buffers_.take(bytes, record_.benchmark); }
device::Buffer Run::staging_buffer(std::size_t bytes) { return staging_.take(bytes, record_.benchmark); }

std::unique_ptr<device::Stream> Run::concurrent_stream(device::Priority priority) {
  return session_.device().concurrent_stream(memory(), priority);
}

std::unique_ptr<device::Event> Run::event() { return session_.device().event(memory()); }

const transport::Communicator& Run::communicator() const { return session_.communicator(); }
device::Device& Run::device() { return session_.device(); }

void Run::barrier() {
  stream_->wait();
  transport::mpi_calls::barrier(session_.communicator());
}

device::Blas& Run::blas() { return session_.blas(memory()); }

void require_sums(Run& run, DataType type) {
  if (run.transport().sums(type)) return;
  throw Unfit(fmt::format("this transport does not sum {}; ask for another --dtype or another transport", name(type)));
}

void Run::alive() {
  auto& operations = activity().operations;  // only this rank writes it: no locked instruction is needed
  operations.store(operations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

measure::Repetition Run::repetition(const measure::Repetition& defaults) const {
  const Settings& settings = session_.settings();
  measure::Repetition chosen = defaults;
  chosen.timing = settings.timing.value_or(defaults.timing);
  chosen.repeat = settings.repeat.value_or(defaults.repeat);
  chosen.warmup = settings.warmup.value_or(defaults.warmup);
  // A round of `each` is as many samples as repetitions; one round is what is asked for.
  chosen.batches = settings.batches.value_or(chosen.timing == Timing::each ? 1 : defaults.batches);
  chosen.min_time_s = settings.min_time_s;
  chosen.until_ci_percent = settings.until_ci_percent;
  return chosen;
}

void Run::fact(const std::string& name, measure::Value value) {
  auto& facts = record_.facts;
  const auto known = std::find_if(facts.begin(), facts.end(), [&](const auto& fact) { return fact.first == name; });
  if (known != facts.end()) {
    known->second = std::move(value);
  } else {
    facts.emplace_back(name, std::move(value));
  }
}

void Run::series(const std::string& name, std::vector<double> values) { record_.series[name] = std::move(values); }
void Run::report(const std::string& line) { record_.report.push_back(line); }
void Run::candidate(measure::Candidate candidate) { record_.candidate = std::move(candidate); }

void Run::measure(const Measurement& measurement) {
  stream_->wait();
  record_.setup_s += session_.communicator().maximum(seconds_since(created_));
  Meter(*this, measurement).run();
  if (!session_.settings().ceilings || record_.status != measure::Status::ok) return;
  Monitor::doing(fmt::format("measuring the ceiling of {}", record_.benchmark));
  for (const CeilingRequest& request : measurement.ceilings) {
    const auto measured = measure_ceiling(request);
    if (measured) record_.ceilings.push_back(*measured);
  }
}

std::optional<measure::Ceiling> Run::measure_ceiling(const CeilingRequest& request) {
  if (const auto* copy = std::get_if<CopyCeiling>(&request)) {
    auto ceiling = session_.ceilings().measure(*copy, memory(), session_.memory_of(copy->peer));
    if (ceiling) ceiling->part = copy->part;
    return ceiling;
  }
  if (const auto* call = std::get_if<CallCeiling>(&request)) return measure_call(*call);
  return session_.ceilings().measure(std::get<GemmCeiling>(request), blas(), memory());
}

measure::Ceiling Run::measure_call(const CallCeiling& ceiling) {
  constexpr std::size_t fewest = 6;
  constexpr std::size_t most = 50;
  constexpr double long_enough_s = 1;
  const auto& communicator = session_.communicator();
  double seconds = 0;
  double spent = 0;  // equal on all ranks
  for (const auto& call : ceiling.calls) {
    std::vector<double> samples;
    const double until = spent + long_enough_s / static_cast<double>(ceiling.calls.size());
    for (std::size_t i = 0; i < most && (i < fewest || spent < until); ++i) {
      communicator.barrier();
      const auto start = Clock::now();
      call();
      stream_->wait();
      samples.push_back(communicator.sum_of_reals(seconds_since(start)) / communicator.size());
      spent += samples.back();
      alive();
    }
    samples.erase(samples.begin());  // the first warms up
    seconds += measure::summarize(samples).median;
  }
  return {
      .name = ceiling.name,
      .method = ceiling.method + "; the mean over the ranks, the median of 5 to 49 of each by itself, after a barrier",
      .seconds = seconds,
      .copy_GBps = static_cast<double>(ceiling.bytes) / seconds * 1e-9,
      .library = true,
      .part = ceiling.part};
}

}  // namespace commlens

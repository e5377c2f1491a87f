#include "harness/sampled_run.hpp"

#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/json.hpp"
#include "harness/monitor.hpp"
#include "harness/page_faults.hpp"
#include "harness/run.hpp"
#include "measure/statistics.hpp"

namespace commlens {

Tracer::Tracer(device::Device& device, device::Stream& stream, Streams streams, std::string default_stream)
    : device_(device),
      on_gpu_(stream.on_gpu()),
      streams_(std::move(streams)),
      default_stream_(std::move(default_stream)),
      origin_(recorded_on(stream)) {
  stream.wait();
}

std::unique_ptr<device::Event> Tracer::recorded_on(device::Stream& stream) {
  auto event = device_.event(on_gpu_ ? device::Memory::device : device::Memory::host);
  stream.record(*event);
  return event;
}

void Tracer::begin(std::string_view part, device::Stream& stream, std::optional<std::size_t> index) {
  const auto known = streams_.find(part);
  const std::string& name = known != streams_.end() ? known->second : default_stream_;
  const std::size_t number = index ? *index : counts_[name]++;
  steps_.push_back({name, std::string(part), number, recorded_on(stream), nullptr});
}

std::map<std::string, double> Tracer::seconds() const {
  std::map<std::string, double> seconds;
  for (const Step& step : steps_) seconds[step.part] += step.end->seconds_since(*step.start);
  return seconds;
}

std::vector<measure::Span> Tracer::spans(const transport::Communicator& communicator) {
  auto mine = Json::array();
  for (const Step& step : steps_) {
    mine.push_back(
        {step.stream, step.part, step.number, step.start->seconds_since(*origin_), step.end->seconds_since(*origin_)});
  }
  std::vector<measure::Span> spans;
  int rank = 0;
  for (const std::string& text : communicator.gather(line_of(mine))) {
    for (const auto& step : parse_json(text)) {
      spans.push_back(
          {.rank = rank, .stream = step[0], .part = step[1], .step = step[2], .start_s = step[3], .end_s = step[4]});
    }
    ++rank;
  }
  return spans;
}

namespace {

const Call filling_call{"filling the buffers"};
const Call comparing_call{"comparing the results"};

constexpr std::size_t fewest_counted = 3;  ///< rounds: of fewer the median is no better than the mean
constexpr std::size_t most_counted = 1000;

}  // namespace

void RanksOf::mean(std::vector<double>& values) {
  for (double& value : values) value = communicator_.sum_of_reals(value) / communicator_.size();
}

SampledRun::SampledRun(const Measurement& measurement, device::Device& device, device::Stream& stream,
                       std::string subject)
    : measurement_(measurement), device_(device), stream_(stream), subject_(std::move(subject)) {
  page_faults_.reserve(most_counted);  // to grow between operations would change the heap whose pages are counted
}

/// Inputs of gigabytes take their time: both this and verify() count as progress.
void SampledRun::prepare(std::size_t round) {
  const InCall call(filling_call);
  if (measurement_.reset) measurement_.reset(round);
  stream_.wait();
  heartbeat();
  before_ = call_counts();
  page_faults_before_ = page_faults();
}

void SampledRun::repeat(const Operate& operate, std::size_t times) {
  operate(times);
  stream_.wait();
}

void SampledRun::operate_part(std::size_t part, std::size_t operations) {
  repeat(measurement_.parts[part].operate, operations);
}

measure::Verdict SampledRun::verify(std::size_t round, std::size_t operations) {
  const InCall call(comparing_call);
  const measure::Verdict verdict = measurement_.verify(round, operations);
  heartbeat();
  return verdict;
}

void SampledRun::begin_parts() {
  Tracer::Streams streams;
  for (const Part& part : measurement_.parts) streams[part.name] = part.stream;
  const std::string default_stream = measurement_.parts.empty() ? "" : measurement_.parts.front().stream;
  tracer_ = std::make_unique<Tracer>(device_, stream_, std::move(streams), default_stream);
}

void SampledRun::operate_in_parts() {
  measurement_.trace(*tracer_);
  stream_.wait();
}

std::vector<double> SampledRun::seconds_in_parts() {
  auto seconds_of = tracer_->seconds();
  std::vector<double> seconds;
  for (const Part& part : measurement_.parts) seconds.push_back(seconds_of[part.name]);
  return seconds;
}

std::vector<measure::Span> SampledRun::spans(const transport::Communicator& communicator) {
  return tracer_->spans(communicator);
}

void SampledRun::sampled(std::size_t operations) {
  if (page_faults_.size() < most_counted) {
    page_faults_.push_back((page_faults() - page_faults_before_) / static_cast<double>(operations));
  }
  for (std::size_t call = 0; call < calls_.size(); ++call) calls_[call] += call_counts()[call] - before_[call];
  operations_ += operations;
}

void SampledRun::status(const std::string& text) { Monitor::status(text + " " + subject_); }

std::map<std::string, double> SampledRun::calls_per_operation(const transport::Communicator& communicator) const {
  std::map<std::string, double> calls;
  if (operations_ == 0) return calls;
  std::vector<double> most(calls_.begin(), calls_.end());
  communicator.maximum(most);  // a sum for each call that some rank has made, not for all that there are
  for (std::size_t call = 1; call < Call::count(); ++call) {
    const std::string name = Call::text(call);
    if (most[call] == 0 || !name.starts_with("MPI_")) continue;
    const auto total = communicator.sum(static_cast<std::int64_t>(calls_[call]));
    calls[name] = static_cast<double>(total) / static_cast<double>(operations_) / communicator.size();
  }
  return calls;
}

double SampledRun::page_faults_per_operation(const transport::Communicator& communicator) const {
  const bool is_enough = page_faults_.size() >= fewest_counted;
  return communicator.maximum(is_enough ? measure::summarize(page_faults_).median : 0);
}

transport::Selection SampledRun::collective(const transport::Communicator& communicator) {
  using std::chrono_literals::operator""ms;
  transport::Selection found;
  for (const auto late_by : {4ms, 20ms}) {  // where cores are busy, ranks take long to come to where they wait
    // Of a collective with a root some ranks wait for the root alone, others for no rank but their own part of a tree.
    for (const int late : {0, communicator.size() - 1}) {
      prepare(1);
      communicator.barrier();
      transport::Selection mine;
      if (communicator.rank() == late) {
        std::this_thread::sleep_for(late_by);
        operate(1);
      } else {
        transport::StackSample sample(late_by / 2);
        operate(1);
        mine = transport::collective_on(sample.finish());
      }
      // The one that knows most; of a rank that was in no collective nothing is known.
      const auto first = [&](bool is_known) { return communicator.first(is_known ? line_of(mine) : std::string{}); };
      std::string text = first(mine.contains("algorithm"));
      if (!text.empty()) return parse_json(text);
      text = first(!mine.empty());
      if (!text.empty()) found = parse_json(text).get<transport::Selection>();
    }
    if (!found.empty()) break;
  }
  return found;
}

}  // namespace commlens

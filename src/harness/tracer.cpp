#include "harness/tracer.hpp"

#include <nlohmann/json.hpp>
#include <utility>

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

void Tracer::end(device::Stream& stream) { steps_.back().end = recorded_on(stream); }

std::map<std::string, double> Tracer::seconds() const {
  std::map<std::string, double> seconds;
  for (const Step& step : steps_) seconds[step.part] += step.end->seconds_since(*step.start);
  return seconds;
}

std::vector<measure::Span> Tracer::spans(const transport::Communicator& communicator) {
  auto mine = nlohmann::json::array();
  for (const Step& step : steps_) {
    mine.push_back(
        {step.stream, step.part, step.number, step.start->seconds_since(*origin_), step.end->seconds_since(*origin_)});
  }
  std::vector<measure::Span> spans;
  int rank = 0;
  for (const std::string& text : communicator.gather(mine.dump())) {
    for (const auto& step : nlohmann::json::parse(text)) {
      spans.push_back(
          {.rank = rank, .stream = step[0], .part = step[1], .step = step[2], .start_s = step[3], .end_s = step[4]});
    }
    ++rank;
  }
  return spans;
}

}  // namespace commlens

#include "harness/tracer.hpp"

#include <nlohmann/json.hpp>

namespace commlens {

Tracer::Tracer(device::Device& device, device::Stream& stream)
    : device_(device), on_gpu_(stream.native() != nullptr), origin_(recorded_on(stream)) {
  stream.wait();
}

std::unique_ptr<device::Event> Tracer::recorded_on(device::Stream& stream) {
  auto event = device_.event(on_gpu_ ? device::Memory::device : device::Memory::host);
  stream.record(*event);
  return event;
}

void Tracer::begin(const Step& step, device::Stream& stream) { steps_.push_back({step, recorded_on(stream), nullptr}); }

void Tracer::end(device::Stream& stream) { steps_.back().end = recorded_on(stream); }

std::map<std::string, double> Tracer::seconds() const {
  std::map<std::string, double> seconds;
  for (const Recorded& recorded : steps_) seconds[recorded.step.part] += recorded.end->seconds_since(*recorded.start);
  return seconds;
}

std::vector<measure::Span> Tracer::spans(const transport::Communicator& communicator) {
  auto mine = nlohmann::json::array();
  for (Recorded& recorded : steps_) {
    mine.push_back({recorded.step.stream, recorded.step.part, recorded.step.number,
                    recorded.start->seconds_since(*origin_), recorded.end->seconds_since(*origin_)});
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

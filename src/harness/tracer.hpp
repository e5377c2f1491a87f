// Reads the device's own clock around the steps of an operation that overlaps: what a timeline is drawn from.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "measure/record.hpp"
#include "transport/communicator.hpp"

namespace commlens {

/// A step of a part, on the stream of that name.
struct Step {
  const char* stream;
  const char* part;
  std::size_t number;
};

class Tracer {
 public:
  /// Steps are counted from now, on the clock of `stream`, which has nothing to do.
  Tracer(device::Device& device, device::Stream& stream);

  void begin(const Step& step, device::Stream& stream);
  void end(device::Stream& stream);  ///< of the step that began last
  /// What this rank's steps took, by part. Waits for them.
  [[nodiscard]] std::map<std::string, double> seconds() const;
  /// Every rank's steps, by rank. Collective; waits for them.
  [[nodiscard]] std::vector<measure::Span> spans(const transport::Communicator& communicator);

 private:
  struct Recorded {
    Step step;
    std::unique_ptr<device::Event> start;
    std::unique_ptr<device::Event> end;
  };

  [[nodiscard]] std::unique_ptr<device::Event> recorded_on(device::Stream& stream);

  device::Device& device_;
  bool on_gpu_;
  std::unique_ptr<device::Event> origin_;
  std::vector<Recorded> steps_;
};

/// Does `work`, which adds to `stream`, as a step; without a tracer it is only done.
template <class Work>
void traced(Tracer* tracer, device::Stream& stream, const Step& step, Work work) {
  if (tracer != nullptr) tracer->begin(step, stream);
  work();
  if (tracer != nullptr) tracer->end(stream);
}

}  // namespace commlens

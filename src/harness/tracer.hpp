// Reads the device's own clock around the steps of an operation: what a timeline is drawn from.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "device/steps.hpp"
#include "measure/record.hpp"
#include "transport/communicator.hpp"

namespace commlens {

class Tracer final : public StepObserver {
 public:
  using Streams = std::map<std::string, std::string, std::less<>>;  ///< names of streams by part

  /// Time counts from now, on the clock of `stream`, which has nothing to do. A step of a part that is not in `streams`
  /// belongs to the stream `default_stream`. Steps without an index are numbered by stream, from 0.
  Tracer(device::Device& device, device::Stream& stream, Streams streams, std::string default_stream);

  void begin(std::string_view part, device::Stream& stream, std::optional<std::size_t> index) override;
  void end(device::Stream& stream) override;
  /// What this rank's steps took, by part. Waits for them.
  [[nodiscard]] std::map<std::string, double> seconds() const;
  /// Every rank's steps, by rank. Collective; waits for them.
  [[nodiscard]] std::vector<measure::Span> spans(const transport::Communicator& communicator);

 private:
  struct Step {
    std::string stream;
    std::string part;
    std::size_t number;
    std::unique_ptr<device::Event> start;
    std::unique_ptr<device::Event> end;
  };

  [[nodiscard]] std::unique_ptr<device::Event> recorded_on(device::Stream& stream);

  device::Device& device_;
  bool on_gpu_;
  Streams streams_;
  std::string default_stream_;
  std::map<std::string, std::size_t> counts_;  ///< steps without an index, by stream
  std::unique_ptr<device::Event> origin_;
  std::vector<Step> steps_;
};

}  // namespace commlens

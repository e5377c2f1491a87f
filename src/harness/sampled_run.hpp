// A benchmark's operation on this rank, as the sampler wants it: streams are waited for, calls are counted, steps are
// traced, the watchdog is told.
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
#include "harness/measurement.hpp"
#include "measure/record.hpp"
#include "measure/sampling.hpp"
#include "transport/activity.hpp"
#include "transport/communicator.hpp"
#include "transport/selection.hpp"

namespace commlens {

/// Reads the device's own clock around the steps of an operation: what a timeline is drawn from.
class Tracer final : public StepObserver {
 public:
  using Streams = std::map<std::string, std::string, std::less<>>;  ///< names of streams by part

  /// Time counts from now, on the clock of `stream`, which has nothing to do. A step of a part that is not in `streams`
  /// belongs to the stream `default_stream`. Steps without an index are numbered by stream, from 0.
  Tracer(device::Device& device, device::Stream& stream, Streams streams, std::string default_stream);

  void begin(std::string_view part, device::Stream& stream, std::optional<std::size_t> index) override;
  void end(device::Stream& stream) override { steps_.back().end = recorded_on(stream); }
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

/// The ranks of a communicator.
class RanksOf final : public measure::Ranks {
 public:
  explicit RanksOf(const transport::Communicator& communicator) : communicator_(communicator) {}
  [[nodiscard]] int rank() const override { return communicator_.rank(); }
  void barrier() override { communicator_.barrier(); }
  void maximum(std::vector<double>& values) override { communicator_.maximum(values); }
  void mean(std::vector<double>& values) override;
  std::string first(const std::string& text) override { return communicator_.first(text); }

 private:
  const transport::Communicator& communicator_;
};

class SampledRun final : public measure::SampledOperation {
 public:
  /// `subject` follows "timing" in the watchdog's messages: "latency over mpi, bytes 8, device memory".
  SampledRun(const Measurement& measurement, device::Device& device, device::Stream& stream, std::string subject);

  void prepare(std::size_t round) override;
  void operate(std::size_t operations) override { repeat(measurement_.operate, operations); }
  measure::Verdict verify(std::size_t round, std::size_t operations) override;
  void operate_part(std::size_t part, std::size_t operations) override;
  void begin_parts() override;
  void operate_in_parts() override;
  std::vector<double> seconds_in_parts() override;
  void sampled(std::size_t operations) override;
  void status(const std::string& text) override;

  /// Collective: the steps of the last operation in parts, of all ranks.
  [[nodiscard]] std::vector<measure::Span> spans(const transport::Communicator& communicator);
  /// Collective: of MPI functions in an operation, the mean over the ranks.
  [[nodiscard]] std::map<std::string, double> calls_per_operation(const transport::Communicator& communicator) const;
  /// Collective: in an operation, the median over the rounds, of the rank with most. 0 where there were fewer than
  /// three: then memory that only some operations use for the first time, as that of queues which grow, would count.
  [[nodiscard]] double page_faults_per_operation(const transport::Communicator& communicator) const;
  /// Collective: the collective in which an operation waits for a rank that comes late, with its algorithm. Does the
  /// operation once or twice, on busy cores up to four times.
  [[nodiscard]] transport::Selection collective(const transport::Communicator& communicator);

 private:
  void repeat(const Operate& operate, std::size_t times);

  const Measurement& measurement_;
  device::Device& device_;
  device::Stream& stream_;
  std::string subject_;
  CallCounts before_{};  ///< the last operations
  CallCounts calls_{};   ///< of all that were sampled
  std::size_t operations_ = 0;
  double page_faults_before_ = 0;    ///< the last operations
  std::vector<double> page_faults_;  ///< per operation, of the first rounds
  std::unique_ptr<Tracer> tracer_;   ///< of the last operation in parts
};

}  // namespace commlens

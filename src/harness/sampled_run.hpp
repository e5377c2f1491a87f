// A benchmark's operation on this rank, as the sampler wants it: streams are waited for, calls are counted, steps are
// traced, the watchdog is told.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "harness/measurement.hpp"
#include "harness/tracer.hpp"
#include "measure/record.hpp"
#include "measure/sampling.hpp"
#include "transport/activity.hpp"
#include "transport/communicator.hpp"

namespace commlens {

/// The ranks of a communicator.
class RanksOf final : public measure::Ranks {
 public:
  explicit RanksOf(const transport::Communicator& communicator) : communicator_(communicator) {}
  [[nodiscard]] int own() const override { return communicator_.rank(); }
  void barrier() override { communicator_.barrier(); }
  void maximum(std::vector<double>& values) override { communicator_.maximum(values); }
  void mean(std::vector<double>& values) override;
  std::string first(const std::string& text) override { return communicator_.first(text); }

 private:
  const transport::Communicator& communicator_;
};

class SampledRun final : public measure::SampledOperation {
 public:
  /// `what` follows "timing" in the watchdog's messages: "latency over mpi, bytes 8, device memory".
  SampledRun(const Measurement& measurement, device::Device& device, device::Stream& stream, std::string what);

  void prepare(std::size_t round) override;
  void operate(std::size_t operations) override;
  measure::Verdict verify(std::size_t round, std::size_t operations) override;
  void operate_part(std::size_t part, std::size_t operations) override;
  void begin_parts() override;
  void operate_in_parts() override;
  std::vector<double> seconds_in_parts() override;
  void sampled(std::size_t operations) override;
  void status(const std::string& what) override;

  /// Collective: the steps of the last operation in parts, of all ranks.
  [[nodiscard]] std::vector<measure::Span> spans(const transport::Communicator& communicator);
  /// Collective: of MPI functions in an operation, the mean over the ranks.
  [[nodiscard]] std::map<std::string, double> calls_per_operation(const transport::Communicator& communicator) const;

 private:
  void repeat(const std::function<void()>& operate, std::size_t times);

  const Measurement& measurement_;
  device::Device& device_;
  device::Stream& stream_;
  std::string what_;
  CallCounts before_{};  ///< the last operations
  CallCounts calls_{};   ///< of all that were sampled
  std::size_t operations_ = 0;
  std::unique_ptr<Tracer> tracer_;  ///< of the last operation in parts
};

}  // namespace commlens

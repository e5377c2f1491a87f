// What a benchmark is given: its ranks, its memory, its transport, its stream, and measure().
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "base/stopwatch.hpp"
#include "device/blas.hpp"
#include "device/device.hpp"
#include "harness/measurement.hpp"
#include "harness/settings.hpp"
#include "measure/record.hpp"
#include "transport/communicator.hpp"
#include "transport/context.hpp"
#include "transport/selection.hpp"
#include "transport/transport.hpp"

namespace commlens {

class Ceilings;
class SampledRun;

/// What a benchmark's body throws, on all ranks alike and before anything is sent, where a transport cannot do what it
/// needs: the record is `skipped`, with this reason.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What all runs of a start share.
struct Resources {
  const Settings& settings;
  const transport::Communicator& communicator;
  device::Device& device;
  Ceilings& ceilings;
  const std::vector<device::Memory>& memories;                 ///< by rank
  const std::vector<measure::Metric>& metrics;                 ///< that the benchmark has declared
  std::function<device::Blas&(device::Memory memory)> blas;    ///< made when first asked for
  std::map<std::type_index, std::shared_ptr<void>>& retained;  ///< Run::retain()
  double mpi_init_s = 0;                                       ///< what MPI_Init_thread has taken on this rank
};

/// One case of a benchmark over one transport.
class Run {
 public:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t slack = 64 * page;  ///< what beginning each buffer on a page may cost

  /// What buffers are taken from: all that a run asks for, and `slack`.
  struct Storage {
    const device::Buffer& arena;
    std::size_t used = 0;

    /// Throws std::logic_error where the arena has no room.
    device::Buffer take(std::size_t bytes, const std::string& benchmark);
  };

  Run(const Resources& resources, transport::Transport& transport, Storage buffers, Storage staging,
      measure::Record& record);
  Run(Run&&) = delete;

  [[nodiscard]] int rank() const { return resources_.communicator.rank(); }
  [[nodiscard]] int ranks() const { return resources_.communicator.size(); }
  [[nodiscard]] device::Memory memory() const { return buffers_.arena.memory(); }
  [[nodiscard]] transport::Transport& transport() { return transport_; }
  [[nodiscard]] const std::string& transport_name() const {
    return record_.transport;
  }  ///< for texts, and to measure MPI alone
  /// Of this run's memory: every operation of the benchmark goes through it.
  [[nodiscard]] device::Stream& stream() { return *stream_; }
  [[nodiscard]] device::Device& device() { return resources_.device; }
  /// Of all ranks: for sub-communicators. Nobody sends messages in it.
  [[nodiscard]] const transport::Communicator& communicator() const { return resources_.communicator; }
  /// Whether MPI may be given this run's memory: it is the host's, or the library says that it takes the GPU's.
  [[nodiscard]] bool mpi_takes_memory() const;
  /// All of these, for a component. The run must outlive it.
  [[nodiscard]] Context context();

  /// In this run's memory, at the start of a page; valid as long as the run. Throws std::logic_error beyond the
  /// benchmark's memory estimate.
  [[nodiscard]] device::Buffer buffer(std::size_t bytes) { return buffers_.take(bytes, record_.benchmark); }
  /// The same in staging memory: page-locked memory of the host, where there is a GPU.
  [[nodiscard]] device::Buffer staging_buffer(std::size_t bytes) { return staging_.take(bytes, record_.benchmark); }
  /// A further stream of this run's memory, which works while the host does something else.
  [[nodiscard]] std::unique_ptr<device::Stream> concurrent_stream(device::Priority priority);
  [[nodiscard]] std::unique_ptr<device::Event> event() { return device().event(memory()); }
  /// Matrix products in this run's memory; the same ones for all transports.
  [[nodiscard]] device::Blas& blas();
  /// What several cases of a start share, such as a mesh: made by the first that asks for this type.
  template <class T>
  T& retain(const std::function<std::unique_ptr<T>()>& make);
  /// Whether parts of an operation are measured, too (not with --no-parts).
  [[nodiscard]] bool in_parts() const { return resources_.settings.parts; }
  [[nodiscard]] double mpi_init_s() const { return resources_.mpi_init_s; }
  /// Waits for the run's stream, and then for the other ranks.
  void barrier();
  /// `defaults`, with what the user has set in their place.
  [[nodiscard]] measure::Repetition repetition(const measure::Repetition& defaults) const;

  // What else the record has; rank 0's is written. docs/records-reference.md says what each is for.
  /// Something that was counted or found; given twice, the last counts.
  void fact(const measure::Fact& fact, measure::Value value);
  /// What an operation took on average in a part of it, measured by the benchmark itself; after measure().
  void part(const std::string& name, const std::string& stream, double seconds) {
    record_.parts.push_back({.name = name, .stream = stream, .samples_s = {seconds}, .within = true});
  }
  void series(const std::string& name, std::vector<double> values) { record_.series[name] = std::move(values); }
  /// A line in the application's own words. An empty line ends a block.
  void report(const std::string& line) { record_.report.push_back(line); }
  void candidate(measure::Candidate candidate) { record_.candidate = std::move(candidate); }

  /// Warms up, measures and validates, collectively, into the record. Once in a benchmark's body. What the body does
  /// before counts as set-up and is timed as such.
  void measure(const Measurement& measurement);
  /// In the place of measure(), for what has been timed before the run, once: the largest `seconds` over the ranks are
  /// the sample.
  void measured(const std::string& operation, double seconds, const measure::CaseMetric& metric);
  /// Seconds of an operation, the largest over the ranks; after measure().
  [[nodiscard]] const std::vector<double>& samples() const { return record_.samples_s; }

 private:
  void require_declared(const Measurement& measurement) const;
  void sample(const Measurement& measurement);
  void take(measure::Samples samples, const Measurement& measurement);
  void take_clock();
  /// Collective.
  void take_page_faults(const SampledRun& sampled);
  /// What MPI has selected for the operation, where it communicates by MPI.
  void take_selection(SampledRun& sampled);
  /// Before the samples for what is known then, and after them for the record.
  void measure_ceilings(const Measurement& measurement, std::optional<double> case_s);

  const Resources& resources_;
  transport::Transport& transport_;
  Storage buffers_;
  Storage staging_;
  std::unique_ptr<device::Stream> stream_;
  measure::Record& record_;
  Stopwatch set_up_;
};

template <class T>
T& Run::retain(const std::function<std::unique_ptr<T>()>& make) {
  auto& kept = resources_.retained[std::type_index(typeid(T))];
  if (!kept) kept = std::shared_ptr<T>(make());
  return *static_cast<T*>(kept.get());
}

/// Throws Unsupported where the run's transport cannot sum the type.
void require_sums(Run& run, DataType type);

}  // namespace commlens

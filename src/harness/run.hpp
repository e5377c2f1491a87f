// What a benchmark is given: its ranks, its memory, its transport, its stream, and measure().
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "device/blas.hpp"
#include "device/device.hpp"
#include "measure/record.hpp"
#include "transport/communicator.hpp"
#include "transport/transport.hpp"

namespace commlens {

class Session;
class Tracer;

/// What a benchmark's body throws, on all ranks alike and before anything is sent, where a transport cannot do what it
/// needs: the record is `skipped`, with this reason.
class Unfit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What comparing a rank's results with what they must be has shown.
struct Verdict {
  std::size_t elements = 0;  ///< compared
  std::string error;         ///< the first wrong one: where, expected, found; empty if all are right
  /// How far they are from what they must be, where that is a matter of rounding.
  std::optional<measure::Deviation> deviation = std::nullopt;
};

/// The least that the hardware needs for one operation: copies of `bytes` from this rank's memory to `peer`'s, measured
/// in the same run by all ranks with `takes_part` at the same time.
struct CopyCeiling {
  std::size_t bytes = 0;
  double copies = 1;  ///< copies of `bytes` that one operation stands for
  int peer = 0;       ///< whose memory is copied to
  bool takes_part = true;
  bool to_staging = false;  ///< copied to staging memory of this rank instead: `peer` does not matter
  std::string part;         ///< that it is the least time of, rather than of the operation
};

/// The least that the device needs for the arithmetic of one operation: at the rate of a matrix product, measured in
/// the same run by all ranks at the same time, back to back for a second, so that clocks and power are those of a
/// device at work.
struct GemmCeiling {
  double flops = 0;   ///< of one operation, on this rank
  device::Gemm gemm;  ///< of the benchmark's own buffers; without `a`, a large square product of its type
};

/// What a library needs for a part of the operation: its calls by themselves, each after a barrier.
struct CallCeiling {
  std::string name;    ///< "alltoall alone"
  std::string method;  ///< what the calls are, for the record
  std::string part;
  std::size_t bytes = 0;                     ///< that this rank sends in all of them
  std::vector<std::function<void()>> calls;  ///< of one operation; collective
};

using CeilingRequest = std::variant<CopyCeiling, GemmCeiling, CallCeiling>;

/// A piece of an operation: either one that overlaps with others, timed alone, in turns with the whole; or, without
/// operate(), timed within the operation, by the steps that Measurement::trace gives to its tracer.
struct Part {
  std::string name;
  std::string stream;  ///< parts of one stream cannot overlap with each other
  std::function<void()> operate = nullptr;
};

struct Measurement {
  std::string operation;  ///< what operate() does once: "round trip"
  /// Untimed: fills the inputs and spoils the outputs, differently for each `round`. May only queue it on the stream.
  std::function<void(std::size_t round)> reset;
  std::function<void()> operate;  ///< timed
  /// Untimed: compares the outputs with what `operations` calls of operate() since reset(round) must give.
  std::function<Verdict(std::size_t round, std::size_t operations)> verify;
  bool exact = true;  ///< verify() compares to the last bit; otherwise to rounding
  /// After so many operations reset() is due, with the clock stopped.
  std::size_t operations_per_reset = static_cast<std::size_t>(-1);
  measure::Repetition repetition;  ///< from Run::repetition()
  std::vector<measure::Figure> figures;
  /// With parts timed alone, the figure `overlap_efficiency` is added: the ideal time (measure::ideal_seconds) over the
  /// time.
  std::vector<Part> parts;
  /// Does the operation once more, with its steps given to the tracer: the record's timeline. May be empty.
  std::function<void(Tracer& tracer)> trace;
  std::vector<CeilingRequest> ceilings;
};

/// One case of a benchmark over one transport.
class Run {
 public:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t slack = 16 * page;  ///< what beginning each buffer on a page may cost

  /// `arena` holds all buffers of this run, and `staging` those of staging_buffer(): what they may use of it, and
  /// `slack`.
  struct Storage {
    const device::Buffer& arena;
    std::size_t limit = 0;  ///< bytes
    std::size_t used = 0;

    /// Throws std::logic_error beyond the limit.
    device::Buffer take(std::size_t bytes, const std::string& benchmark);
  };

  Run(Session& session, transport::Transport& transport, Storage buffers, Storage staging, measure::Record& record);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int ranks() const;
  [[nodiscard]] device::Memory memory() const { return buffers_.arena.memory(); }
  [[nodiscard]] transport::Transport& transport() { return transport_; }
  [[nodiscard]] const std::string& transport_name() const { return record_.transport; }
  /// Of this run's memory: every operation of the benchmark goes through it.
  [[nodiscard]] device::Stream& stream() { return *stream_; }
  /// In this run's memory, at the start of a page; valid as long as the run. Throws std::logic_error beyond the
  /// footprint that the benchmark has declared.
  [[nodiscard]] device::Buffer buffer(std::size_t bytes);
  /// The same in staging memory: page-locked memory of the host, where there is a GPU.
  [[nodiscard]] device::Buffer staging_buffer(std::size_t bytes);
  /// A further stream of this run's memory, which works while the host does something else.
  [[nodiscard]] std::unique_ptr<device::Stream> concurrent_stream(device::Priority priority);
  [[nodiscard]] std::unique_ptr<device::Event> event();
  /// Matrix products in this run's memory; the same ones for all transports.
  [[nodiscard]] device::Blas& blas();
  /// Of all ranks: for sub-communicators. Nobody sends messages in it.
  [[nodiscard]] const transport::Communicator& communicator() const;
  [[nodiscard]] device::Device& device();
  /// Waits for the run's stream, and then for the other ranks.
  void barrier();
  /// A sign of life in the middle of a long operation.
  static void alive();
  /// `defaults`, with what the user has set in their place.
  [[nodiscard]] measure::Repetition repetition(const measure::Repetition& defaults) const;

  // What else the record holds; rank 0's is written. docs/records.md says what each is for.
  /// Something that was counted or found; with the same name once more, the last counts.
  void fact(const std::string& name, measure::Value value);
  void series(const std::string& name, std::vector<double> values);
  /// A line in the application's own words. An empty line ends a block: tables print equal blocks of a start once.
  void report(const std::string& line);
  void candidate(measure::Candidate candidate);

  /// Warms up, measures and validates, collectively, into the record. Once in a benchmark's body. What the body does
  /// before counts as set-up and is timed as such.
  void measure(const Measurement& measurement);

 private:
  class Meter;

  [[nodiscard]] std::optional<measure::Ceiling> measure_ceiling(const CeilingRequest& request);
  [[nodiscard]] measure::Ceiling measure_call(const CallCeiling& ceiling);

  Session& session_;
  transport::Transport& transport_;
  Storage buffers_;
  Storage staging_;
  std::unique_ptr<device::Stream> stream_;
  measure::Record& record_;
  std::chrono::steady_clock::time_point created_;
};

/// Throws Unfit where the run's transport cannot sum the type.
void require_sums(Run& run, DataType type);

}  // namespace commlens

// What a benchmark is given: its ranks, its memory, its transport, its stream, and measure().
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "measure/record.hpp"
#include "transport/transport.hpp"

namespace commlens {

class Session;

/// What comparing a rank's results with what they must be has shown.
struct Verdict {
  std::size_t elements = 0;  ///< compared
  std::string error;         ///< the first wrong one: where, expected, found; empty if all are right
};

/// The least that the hardware needs for one operation: copies of `bytes` from this rank's memory to `peer`'s, measured
/// in the same run by all ranks with `takes_part` at the same time.
struct CopyCeiling {
  std::size_t bytes = 0;
  double copies = 1;  ///< copies of `bytes` that one operation stands for
  int peer = 0;       ///< whose memory is copied to
  bool takes_part = true;
};

struct Measurement {
  std::string operation;  ///< what operate() does once: "round trip"
  /// Untimed: fills the inputs and spoils the outputs, differently for each `round`. May only queue it on the stream.
  std::function<void(std::size_t round)> reset;
  std::function<void()> operate;  ///< timed
  /// Untimed: compares the outputs with what `operations` calls of operate() since reset(round) must give.
  std::function<Verdict(std::size_t round, std::size_t operations)> verify;
  /// After so many operations reset() is due, with the clock stopped.
  std::size_t operations_per_reset = static_cast<std::size_t>(-1);
  measure::Repetition repetition;  ///< from Run::repetition()
  std::vector<measure::Figure> figures;
  std::vector<CopyCeiling> ceilings;
};

/// One case of a benchmark over one transport.
class Run {
 public:
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t slack = 16 * page;  ///< what beginning each buffer on a page may cost

  /// `arena` holds all buffers of this run: `footprint` bytes and `slack`.
  Run(Session& session, transport::Transport& transport, const device::Buffer& arena, std::size_t footprint,
      measure::Record& record);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int ranks() const;
  [[nodiscard]] device::Memory memory() const { return arena_.memory(); }
  [[nodiscard]] transport::Transport& transport() { return transport_; }
  /// Of this run's memory: every operation of the benchmark goes through it.
  [[nodiscard]] device::Stream& stream() { return *stream_; }
  /// In this run's memory, at the start of a page; valid as long as the run. Throws std::logic_error beyond the
  /// footprint that the benchmark has declared.
  [[nodiscard]] device::Buffer buffer(std::size_t bytes);
  /// `defaults`, with what the user has set in their place.
  [[nodiscard]] measure::Repetition repetition(const measure::Repetition& defaults) const;

  /// Warms up, measures and validates, collectively, into the record. Once in a benchmark's body. What the body does
  /// before counts as set-up and is timed as such.
  void measure(const Measurement& measurement);

 private:
  class Meter;

  Session& session_;
  transport::Transport& transport_;
  const device::Buffer& arena_;
  std::size_t used_ = 0;  ///< of the arena
  std::unique_ptr<device::Stream> stream_;
  std::size_t left_;  ///< of the footprint, in bytes
  measure::Record& record_;
  std::chrono::steady_clock::time_point created_;
};

}  // namespace commlens

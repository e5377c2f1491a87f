// Takes the samples of an operation: warm-up, batches, when to stop, validation, parts. It knows nothing of MPI and of
// streams: the operation, the ranks and the clock are given to it, and its tests give it others.
//
//    rank 0: prepare, barrier, | operate * repeat |, verify
//    rank 1: prepare, barrier, | operate * repeat |, verify     a sample is the largest over the ranks, / repeat
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/record.hpp"

namespace commlens::measure {

using Clock = std::function<double()>;  ///< seconds since some moment; it never goes back

/// What comparing a rank's results with what they must be has shown.
struct Verdict {
  std::size_t elements = 0;  ///< compared
  std::string error;         ///< the first wrong one: where, expected, found; empty if all are right
  /// How far they are from what they must be, where that is a matter of rounding.
  std::optional<Deviation> deviation = std::nullopt;
};

/// All ranks that sample together. All functions but rank() are collective, and all ranks get the same.
class Ranks {
 public:
  virtual ~Ranks() = default;
  [[nodiscard]] virtual int rank() const = 0;  ///< this rank
  virtual void barrier() = 0;
  /// Element by element the largest over the ranks. All ranks give as many.
  virtual void maximum(std::vector<double>& values) = 0;
  /// Element by element the mean over the ranks. All ranks give as many.
  virtual void mean(std::vector<double>& values) = 0;
  /// The text of the lowest rank whose text is not empty; empty if all are.
  virtual std::string first(const std::string& text) = 0;
};

/// What is sampled, on this rank.
class SampledOperation {
 public:
  virtual ~SampledOperation() = default;

  /// Untimed: fills the inputs and poisons the outputs, differently for each round. Complete when it returns.
  virtual void prepare(std::size_t round) = 0;
  /// Timed: so many operations back to back. Complete when it returns.
  virtual void operate(std::size_t operations) = 0;
  /// Untimed: compares the outputs of so many operations since prepare(round).
  virtual Verdict verify(std::size_t round, std::size_t operations) = 0;

  /// Timed: a part alone, as often. Complete when it returns.
  virtual void operate_part(std::size_t /*part*/, std::size_t /*operations*/) {}
  /// Untimed: from now on steps of the operation are looked at.
  virtual void begin_parts() {}
  /// Timed: one operation, whose steps are looked at. Complete when it returns.
  virtual void operate_in_parts() {}
  /// Untimed: the seconds of each part within that operation, on this rank.
  virtual std::vector<double> seconds_in_parts() { return {}; }

  /// Untimed: so many operations have been timed for a sample.
  virtual void sampled(std::size_t /*operations*/) {}
  virtual void status(const std::string& /*what*/) {}
};

constexpr std::size_t most_samples = 1'000'000;  ///< kept in a record: 8 MB

struct Sampling {
  Repetition repetition;
  bool limits_all = false;  ///< the time limit holds for the batches that were asked for, too: one is taken at least
  bool validate = true;
  /// After so many operations prepare() is due, with the clock stopped.
  std::size_t operations_per_round = static_cast<std::size_t>(-1);
  std::vector<Part> parts;  ///< without samples; all alone or all within
};

struct Samples {
  std::vector<double> seconds;  ///< per operation, the largest over the ranks
  std::vector<Part> parts;      ///< those that have samples
  std::size_t checks = 0;       ///< on this rank, as all that follows
  std::size_t elements = 0;     ///< compared
  std::optional<Deviation> deviation;
  std::string error;  ///< of the lowest rank with a wrong result: the same on all ranks
};

class Sampler {
 public:
  /// All that is passed must outlive it.
  Sampler(SampledOperation& operation, Sampling sampling, Ranks& ranks, Clock clock);

  /// Collective: warms up and samples until the repetition is done, the time is up, or a result is wrong.
  void run();
  /// Collective, of samples: more operations through SampledOperation::operate_in_parts(), validated, until one takes
  /// about as long as the median sample, or there are enough. After each that is nearer to it than all before, `keep`
  /// is called with its seconds, the largest over the ranks.
  void trace(const std::function<void(double seconds)>& keep);
  /// No result has been found wrong, on any rank.
  [[nodiscard]] bool passed() const { return samples_.error.empty(); }
  /// Collective: what has been sampled.
  [[nodiscard]] Samples result();

 private:
  [[nodiscard]] bool more(std::size_t batches_done, double began);
  /// Up to `wanted` operations between two readings of the clock, from fresh inputs, validated afterwards. Returns how
  /// many, and adds this rank's seconds.
  std::size_t round(std::size_t wanted, bool is_sample, double& seconds);
  double timed(const std::function<void()>& operate);
  double largest(double value);
  void verify(std::size_t operations);
  void sample_batch();
  void sample_each();
  void sample_parts();
  void sample_parts_within();
  double operate_in_parts();
  [[nodiscard]] double seconds_alone(std::size_t part);
  void collect(std::vector<double> samples, double operations_per_sample);

  SampledOperation& operation_;
  Sampling sampling_;
  Ranks& ranks_;
  Clock clock_;
  Samples samples_;
  std::string rank_error_;  ///< this rank's first wrong result
  double sampled_s_ = 0;    ///< the same on all ranks
  std::size_t round_ = 0;
};

}  // namespace commlens::measure

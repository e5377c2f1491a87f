// What a benchmark hands to Run::measure(): the operation, its validation, its metrics, its parts and ceilings.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "device/blas.hpp"
#include "device/steps.hpp"
#include "measure/metric.hpp"
#include "measure/record.hpp"
#include "measure/sampling.hpp"
#include "transport/activity.hpp"

namespace commlens {

using measure::Verdict;

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

/// The least that the device needs to read and write the bytes of one operation, at the highest rate of all passes over
/// arrays of that size and, on a GPU, over large ones.
struct MemoryCeiling {
  double bytes = 0;        ///< of one operation, on this rank
  double working_set = 0;  ///< bytes of the arrays that it works on
  std::string part;        ///< that it is the least time of, rather than of the operation
};

/// The least that the device needs for the arithmetic of one operation: at the rate of a matrix product, or on the host
/// of multiply-adds in registers, if that is higher; by all ranks at the same time.
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

using CeilingRequest = std::variant<CopyCeiling, MemoryCeiling, GemmCeiling, CallCeiling>;

/// What is timed: called so many times in a row. The compiler sees the loop and the function together, so that no call
/// through a pointer is part of an operation.
class Operate {
 public:
  Operate() = default;
  template <std::invocable Function>
  Operate(Function function)  // NOLINT(google-explicit-constructor)
      : loop_([function = std::move(function)](std::size_t times) {
          for (; times > 0; --times) {
            function();
            heartbeat();
          }
        }) {}

  explicit operator bool() const { return static_cast<bool>(loop_); }
  void operator()(std::size_t times) const { loop_(times); }

 private:
  std::function<void(std::size_t times)> loop_;
};

/// A piece of an operation: either one that overlaps with others, timed alone, interleaved with the whole; or, without
/// operate(), timed within the operation, by the steps that Measurement::trace gives to its observer.
struct Part {
  std::string name;
  std::string stream;  ///< parts of one stream cannot overlap with each other
  Operate operate;
};

/// Compares the outputs with what `operations` calls of operate() since reset(round) must give. A function of the round
/// alone will do where the number does not matter.
class Verify {
 public:
  Verify() = default;
  template <class Function>
    requires std::invocable<Function, std::size_t, std::size_t>
  Verify(Function function) : function_(std::move(function)) {}  // NOLINT(google-explicit-constructor)
  template <class Function>
    requires std::invocable<Function, std::size_t>
  Verify(Function function)  // NOLINT(google-explicit-constructor)
      : function_([function = std::move(function)](std::size_t round, std::size_t) { return function(round); }) {}

  explicit operator bool() const { return static_cast<bool>(function_); }
  Verdict operator()(std::size_t round, std::size_t operations) const { return function_(round, operations); }

 private:
  std::function<Verdict(std::size_t round, std::size_t operations)> function_;
};

struct Measurement {
  std::string operation;  ///< what operate() does once: "round trip"
  /// Untimed: fills the inputs and poisons the outputs, differently for each `round`. May only queue it on the stream.
  std::function<void(std::size_t round)> reset;
  Operate operate;    ///< timed
  Verify verify;      ///< untimed
  bool exact = true;  ///< verify() compares to the last bit; otherwise to rounding
  /// After so many operations reset() is due, with the clock stopped.
  std::size_t operations_per_reset = static_cast<std::size_t>(-1);
  measure::Repetition repetition{.repeat = 100, .warmup = 10, .batches = 10};  ///< unless the user asks for another
  std::size_t least_warmup = 0;                                                ///< whatever the user asks for
  std::vector<measure::CaseMetric> metrics;                                    ///< the first is the main metric
  /// With parts timed alone, hidden_communication and overlap_efficiency are added, which the benchmark must have
  /// declared.
  std::vector<Part> parts;
  /// Does the operation once more and tells the observer of its steps: the record's timeline. May be empty.
  std::function<void(StepObserver& observer)> trace;
  std::vector<CeilingRequest> ceilings;
};

}  // namespace commlens

// Times of different ranks on one clock: that of rank 0.
#pragma once

#include <span>

#include "transport/communicator.hpp"

namespace commlens::replay {

/// A message to another rank and back.
struct RoundTrip {
  double sent_s = 0;      ///< on this rank's clock
  double answered_s = 0;  ///< on the other's
  double received_s = 0;  ///< on this rank's
};

/// What to add to a time of this rank, as it was found at that time.
struct ClockOffset {
  double at_s = 0;
  double seconds = 0;
};

/// From the shortest of them: its two ways differ least.
ClockOffset offset_of(std::span<const RoundTrip> trips);
/// Clocks drift apart at a constant rate between the two.
double common_time(double own_s, const ClockOffset& first, const ClockOffset& last);

/// The ranks of a node have one clock.
class CommonClock {
 public:
  /// Collective: compares the clocks of the nodes.
  explicit CommonClock(const transport::Communicator& ranks);

  /// Collective: compares them again. Times between the two can be converted then.
  void finish() { last_ = compare(); }
  [[nodiscard]] double common(double own_s) const { return common_time(own_s, first_, last_); }

 private:
  [[nodiscard]] ClockOffset compare() const;
  [[nodiscard]] ClockOffset compare_with_first() const;
  void answer(int rank) const;

  transport::Communicator ranks_;
  transport::Communicator node_;
  ClockOffset first_;
  ClockOffset last_;
};

}  // namespace commlens::replay

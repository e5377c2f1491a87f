// What the one-sided benchmarks share: their options, and the half of a pair that a rank is.
//
// Each pair has a window of its own, so that ranks outside of it take no part in its synchronization. The operations of
// a window of messages go to places of their own: within an epoch they must not overlap.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "benchmarks/one_sided/operations.hpp"
#include "benchmarks/one_sided/synchronization.hpp"
#include "benchmarks/point_to_point.hpp"

namespace commlens::one_sided {

using transport::AtomicType;
using transport::WindowCreation;

inline constexpr Fact window_creation{
    "window_creation", unit::none,
    "how the window was made: allocate (of its own memory; MPI_Win_allocate), create (of the "
    "benchmark's buffers; MPI_Win_create) or dynamic (of those, attached later; "
    "MPI_Win_create_dynamic)"};

struct WindowedPairOptions : PairOptions {
  std::optional<WindowCreation> creation;
  Synchronization synchronization = Synchronization::flush;

  void describe(OptionSet& options) {
    PairOptions::describe(options);
    describe_synchronization(options);
  }

  void describe_synchronization(OptionSet& options) {
    options
        .add("window-creation", creation,
             "allocate: a window of its own memory; create: of the benchmark's buffers; dynamic: of those, attached "
             "later")
        .shown_as([this] {
          return creation ? std::string(name(*creation)) : "allocate where the transport has it, else create";
        });
    options.add("synchronization", synchronization,
                "flush and flush-local within one lock; lock and lock-all for each operation; fence; post, start, "
                "complete and wait");
  }
};

class WindowedPair {
 public:
  /// Throws Unsupported where the transport or the memory has no such windows. `messages` have places of their own.
  WindowedPair(Run& run, const WindowedPairOptions& options, const Operation& operation, Memory memory,
               std::size_t messages = 1);
  WindowedPair(WindowedPair&&) = delete;

  [[nodiscard]] bool waits() const { return partner_.rank < 0; }

  // What is timed.
  void one_way() {
    if (waits()) return;
    epochs_->one_way(partner_.first, [this] { issue(); });
  }
  void round_trip() {
    if (waits()) return;
    epochs_->round_trip(partner_.first, [this] { issue(); });
  }
  void both_ways() {
    if (waits()) return;
    epochs_->both_ways([this] { issue(); });
  }

  void reset(std::size_t round);
  /// `both`: each rank has issued as many operations, not just the first one.
  [[nodiscard]] Verdict verify(std::size_t round, std::size_t operations, bool both);
  /// Collective: ends the last epoch. Due before the pair ends.
  void settle();

  /// The least that the hardware needs for so many messages from, or to, the first rank.
  [[nodiscard]] CopyCeiling ceiling(double messages, bool both = false) const;

 private:
  /// Collective over the pair.
  void open(WindowCreation creation, Synchronization synchronization);
  void issue() {
    for (std::size_t i = 0; i < messages_; ++i) operation_.issue(*window_, memory_, target_, next_ + i);
    next_ += advance_;
  }
  [[nodiscard]] Seeds seeds(std::size_t round) const;
  /// Calls `function` while this rank may access its own part of the window.
  template <class Function>
  void with_own_part(Function function);

  Run& run_;
  const Operation& operation_;
  Memory memory_;
  Partner partner_;
  bool passive_;
  std::size_t messages_;
  std::size_t advance_;
  std::size_t next_ = 0;                             ///< number of the next operation
  int target_ = 0;                                   ///< the partner, in the pair's communicator
  std::unique_ptr<transport::Transport> transport_;  ///< of the pair alone
  std::unique_ptr<transport::Window> window_;
  std::unique_ptr<Epochs> epochs_;
};

}  // namespace commlens::one_sided

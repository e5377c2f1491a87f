// The status of this process, for a watchdog and for signal handlers.
//
// The only process-wide mutable state in commlens, because signal handlers can access nothing else.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace commlens {

/// A call of a communication library, or what else a rank may be in for long. Declared at namespace scope where it is
/// made, so that all ranks number them alike: they run the same program.
class Call {
 public:
  static constexpr std::size_t most = 512;  ///< of a program

  /// `text` follows "in" in a message of the watchdog: "MPI_Send", "waiting for a stream". Throws std::logic_error
  /// where a program has too many.
  explicit Call(const char* text) {
    if (count_ == most) throw std::logic_error("too many calls are declared");
    texts_[count_++] = text;
  }

  [[nodiscard]] std::size_t index() const { return index_; }  ///< from 1: 0 is no call
  [[nodiscard]] static std::size_t count() { return count_; }
  /// Empty for no call. Async-signal-safe.
  [[nodiscard]] static const char* text(std::size_t index) { return texts_[index]; }

 private:
  static inline constinit std::array<const char*, most> texts_{""};
  static inline constinit std::size_t count_ = 1;

  std::size_t index_ = count_;
};

/// In memory that the ranks of a node share. Only its own rank writes it. A reader may see a partly updated text, which
/// is acceptable in a message.
struct alignas(64) Activity {
  std::atomic<std::uint64_t> operations{0};  ///< incremented by every operation: the heartbeat
  std::atomic<std::size_t> call{0};          ///< Call::index()
  std::array<char, 240> status{};            ///< "timing latency over mpi, 4 B, device to device"
};

namespace detail {
inline Activity before_sharing;
inline std::atomic<Activity*> activity{&before_sharing};
}  // namespace detail

/// Of this process; in private memory until set_activity(). Inline, as it belongs to each operation that is timed.
inline Activity& activity() { return *detail::activity.load(std::memory_order_relaxed); }
/// `shared` must outlive the process's last operation.
inline void set_activity(Activity& shared) { detail::activity.store(&shared, std::memory_order_release); }

/// Tells the watchdog that there is progress: after an operation, and in the middle of a long one. Only the thread that
/// communicates writes it, so that no locked instruction is needed.
inline void heartbeat() {
  auto& operations = activity().operations;
  operations.store(operations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// How many times this process has made each call. Only the thread that communicates writes it.
using CallCounts = std::array<std::uint64_t, Call::most>;
inline CallCounts& call_counts() {
  static CallCounts counts{};
  return counts;
}

/// Marks a call of a communication library, or `times` in a row, while it exists.
class InCall {
 public:
  explicit InCall(const Call& call, std::size_t times = 1) {
    activity().call.store(call.index(), std::memory_order_relaxed);
    call_counts()[call.index()] += times;
  }
  InCall(InCall&&) = delete;
  ~InCall() { activity().call.store(0, std::memory_order_relaxed); }
};

}  // namespace commlens

// The one-sided operations: what each moves, its call, and what must be there afterwards. A new one is a value here and
// in operations.cpp, and its benchmark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "device/device.hpp"
#include "harness/measurement.hpp"
#include "transport/window.hpp"

namespace commlens::one_sided {

/// Operations on one element in a round: each has a place of its own for what it fetches.
inline constexpr std::size_t most_fetches = 1000;

/// A rank's memory in one pair.
struct Memory {
  device::Buffer window;  ///< this rank's part
  device::Buffer local;   ///< what it puts or adds, and where a get puts what it has got
  device::Buffer before;  ///< what atomic operations fetch
  std::size_t bytes = 0;  ///< of one operation
  std::size_t step = 0;   ///< between the places of two operations, in both ranks' memory
  transport::AtomicType type = transport::AtomicType::u8;

  [[nodiscard]] std::size_t elements() const { return bytes / size_of(type); }
};

/// What tells the contents of two ranks and two rounds apart.
struct Seeds {
  std::uint64_t mine = 0;
  std::uint64_t partners = 0;
};

struct Operation {
  std::string_view name;         ///< "put"
  bool exclusive = false;        ///< OSU's program locks so for each operation
  bool exclusive_epoch = false;  ///< and for a series of flushes
  bool sums = false;             ///< what it leaves grows with every operation
  bool fetches = false;          ///< it has a place for each operation's result

  /// The operation of this number since fill().
  void (*issue)(transport::Window& window, const Memory& memory, int target, std::size_t number) = nullptr;
  /// Queues: fills what is read, and poisons what is written.
  void (*fill)(device::Stream& stream, const Memory& memory, const Seeds& seeds) = nullptr;
  /// Compare what so many operations must have left with the memory of the rank that has issued them, or whose window
  /// they were on; nullptr: they leave nothing there. They wait for the stream.
  Verdict (*verify_origin)(device::Stream& stream, const Memory& memory, const Seeds& seeds,
                           std::size_t operations) = nullptr;
  Verdict (*verify_target)(device::Stream& stream, const Memory& memory, const Seeds& seeds,
                           std::size_t operations) = nullptr;
};

extern const Operation put;
extern const Operation get;
extern const Operation accumulate;
extern const Operation get_accumulate;
extern const Operation fetch_and_op;
extern const Operation compare_and_swap;

/// Of a round: later results would not be exact, or would have no place.
std::size_t most_operations(const Operation& operation, transport::AtomicType type);

/// Bytes of Memory::local and Memory::before for operations on one element.
constexpr std::size_t fetched_bytes(std::size_t element_bytes) { return (most_fetches + 2) * element_bytes; }

}  // namespace commlens::one_sided

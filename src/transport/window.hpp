// One-sided communication: a window is memory of each rank that other ranks read and change, without its taking part.
//
// Windows know no streams: the caller waits for its streams before it begins an epoch. An operation is under way until
// the call that completes it. Its buffers lie in the memory that the window's transport was made for; places in a
// window are offsets in bytes. A failing call throws Error with the call and the library's message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/enum_names.hpp"
#include "device/data_type.hpp"

namespace commlens::transport {

/// Whose memory a window is: made with it (MPI_Win_allocate), or the caller's, for this window (MPI_Win_create) or for
/// one to which memory is attached later (MPI_Win_create_dynamic).
enum class WindowCreation { allocate, create, dynamic };
ENUM_NAMES(WindowCreation, {allocate, "allocate"}, {create, "create"}, {dynamic, "dynamic"});

/// What atomic operations work on.
enum class AtomicType { u8, i32, i64, f32, f64 };
ENUM_NAMES(AtomicType, {u8, "u8"}, {i32, "i32"}, {i64, "i64"}, {f32, "f32"}, {f64, "f64"});

/// Calls `function` with a zero of the type: of these alone, as kernels are compiled for each.
template <class Function>
auto with_element(AtomicType type, Function function) {
  switch (type) {
    case AtomicType::u8:
      return function(std::uint8_t{0});
    case AtomicType::i32:
      return function(std::int32_t{0});
    case AtomicType::i64:
      return function(std::int64_t{0});
    case AtomicType::f32:
      return function(0.0F);
    case AtomicType::f64:
      break;
  }
  return function(0.0);
}

constexpr DataType data_type(AtomicType type) {
  return entry_of(std::array{DataType::u8, DataType::i32, DataType::i64, DataType::f32, DataType::f64}, type);
}

inline std::size_t size_of(AtomicType type) { return commlens::size_of(data_type(type)); }

/// The functions are named as those of MPI.
class Window {
 public:
  virtual ~Window() = default;  ///< collective
  /// This rank's part.
  [[nodiscard]] virtual void* data() const = 0;

  virtual void put(const void* data, std::size_t bytes, int target, std::size_t offset) = 0;
  virtual void get(void* data, std::size_t bytes, int target, std::size_t offset) = 0;
  /// Atomic by element, at the beginning of the target's part: adds `data`.
  virtual void accumulate(const void* data, std::size_t count, AtomicType type, int target) = 0;
  /// The same; `before` gets what was there.
  virtual void get_accumulate(const void* data, void* before, std::size_t count, AtomicType type, int target) = 0;
  /// The same for one element.
  virtual void fetch_and_add(const void* value, void* before, AtomicType type, int target) = 0;
  /// One element becomes `value` if it is `expected`; `before` gets what was there. Not for f32 and f64.
  virtual void compare_and_swap(const void* value, const void* expected, void* before, AtomicType type, int target) = 0;

  virtual void fence() = 0;
  /// To all other ranks, or from them.
  virtual void post() = 0;
  virtual void start() = 0;
  virtual void complete() = 0;
  virtual void wait() = 0;
  virtual void lock(int target, bool exclusive) = 0;
  virtual void unlock(int target) = 0;
  virtual void lock_all() = 0;
  virtual void unlock_all() = 0;
  virtual void flush(int target) = 0;
  virtual void flush_local(int target) = 0;
};

}  // namespace commlens::transport

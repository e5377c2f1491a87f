// Regions that the program marks by MPI_Pcontrol.
#pragma once

#include <atomic>
#include <cstdint>

#include "threads.hpp"

namespace commlens::profile {

struct RegionFunction {
  Count calls;
  Count ticks;
  Count bytes;
};

struct Region {
  static constexpr int max_name = 64;
  char name[max_name];
  Count entries;
  Count ticks;
  RegionFunction functions[max_functions];
};

/// Regions can be nested: what happens in the inner one belongs to the outer one too.
class Regions {
 public:
  static constexpr int max_regions = 32;

  void begin(const char* name);
  /// Ends the region and those within it that are still open.
  void end(const char* name);
  void add_call(const Thread& thread, int function, std::uint64_t ticks);
  void add_bytes(const Thread& thread, int function, std::uint64_t bytes);
  [[nodiscard]] int count() const { return used_.load(std::memory_order_acquire); }
  [[nodiscard]] const Region& operator[](int index) const { return regions_[index]; }
  /// Those that had no place: too many, or nested too deep.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  int find_or_add(const char* name);
  /// Those that the thread is in, each once: one may be within itself.
  template <class Visit>
  void for_each_open(const Thread& thread, const Visit& visit);

  Region regions_[max_regions] = {};
  std::atomic<int> used_ = 0;
  Count dropped_ = 0;
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
};

}  // namespace commlens::profile

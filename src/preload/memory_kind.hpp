// What kind of memory a buffer is in, by CUDA's driver or HIP's runtime, if the program has loaded one.
#pragma once

#include <cstdint>

namespace commlens::preload {

/// CUDA's driver or HIP's runtime; handle null: the program has loaded none.
struct Driver {
  void* handle;
  bool is_hip;
};
Driver loaded_driver();

enum class MemoryKind : std::uint8_t { host, pinned, device, managed };
constexpr int memory_kind_count = 4;
constexpr const char* memory_kind_names[memory_kind_count] = {"host", "pinned", "device", "managed"};

struct Memory {
  MemoryKind kind;
  int device;  // of memory that is not the host's
};

/// A program can load a driver at any time. So this looks for one whenever the number of calls has
/// doubled, and `find_driver` at once; false: there is none.
Memory memory_of(const void* buffer);
bool find_driver();

}  // namespace commlens::preload

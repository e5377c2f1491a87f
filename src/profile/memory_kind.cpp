// The memory kind of a buffer, from CUDA's driver or HIP's runtime, if the program has loaded one.
#include <dlfcn.h>

#include <atomic>
#include <bit>
#include <cstdint>

#include "profile.hpp"

namespace commlens::profile {
namespace {

// CUpointer_attribute and CUmemorytype from cuda.h, which most build machines lack. HIP has the
// same numbers since ROCm 6.
constexpr int attribute_memory_type = 2;
constexpr int attribute_is_managed = 8;
constexpr unsigned type_host = 1;
constexpr unsigned type_device = 2;

using GetAttributes = int (*)(unsigned count, int* attributes, void** values, unsigned long long pointer);

struct Driver {
  const char* file;
  const char* function;
};
constexpr Driver drivers[] = {{"libcuda.so.1", "cuPointerGetAttributes"},
                              {"libamdhip64.so.6", "hipDrvPointerGetAttributes"},
                              {"libamdhip64.so.7", "hipDrvPointerGetAttributes"}};

GetAttributes find_driver_function() {
  for (const Driver& driver : drivers) {
    void* library = dlopen(driver.file, RTLD_LAZY | RTLD_NOLOAD);
    if (library != nullptr) return reinterpret_cast<GetAttributes>(dlsym(library, driver.function));
  }
  return nullptr;
}

/// The driver's function, or null while none is loaded. A program can load one at any time, so this
/// looks again whenever the number of calls has doubled.
GetAttributes attributes_function() {
  static std::atomic<GetAttributes> function = nullptr;
  static std::atomic<std::uint64_t> calls = 0;
  if (const GetAttributes known = function.load(std::memory_order_relaxed)) return known;
  const std::uint64_t call = calls.load(std::memory_order_relaxed) + 1;
  calls.store(call, std::memory_order_relaxed);
  if (std::has_single_bit(call)) function.store(find_driver_function(), std::memory_order_relaxed);
  return function.load(std::memory_order_relaxed);
}

}  // namespace

MemoryKind memory_kind_of(const void* buffer) {
  const GetAttributes get_attributes = attributes_function();
  if (get_attributes == nullptr) return MemoryKind::host;
  unsigned type = 0;  // remains 0 for memory unknown to the driver
  unsigned is_managed = 0;
  int attributes[] = {attribute_memory_type, attribute_is_managed};
  void* values[] = {&type, &is_managed};
  if (get_attributes(2, attributes, values, reinterpret_cast<unsigned long long>(buffer)) != 0) return MemoryKind::host;
  if (is_managed != 0) return MemoryKind::managed;
  return type == type_device ? MemoryKind::device : type == type_host ? MemoryKind::pinned : MemoryKind::host;
}

}  // namespace commlens::profile

#include "memory_kind.hpp"

#include <dlfcn.h>

#include <atomic>
#include <bit>
#include <cstdint>

namespace commlens::preload {
namespace {

// CUpointer_attribute and CUmemorytype from cuda.h, which most build machines lack. HIP has the
// same numbers since ROCm 6.
constexpr int attribute_memory_type = 2;
constexpr int attribute_is_managed = 8;
constexpr int attribute_device = 9;
constexpr unsigned type_host = 1;
constexpr unsigned type_device = 2;

using GetAttributes = int (*)(unsigned count, int* attributes, void** values, unsigned long long pointer);

struct DriverFile {
  const char* name;
  bool is_hip;
};
constexpr DriverFile driver_files[] = {{"libcuda.so.1", false}, {"libamdhip64.so.6", true}, {"libamdhip64.so.7", true}};

std::atomic<GetAttributes> driver_function = nullptr;

GetAttributes find_driver_function() {
  const Driver driver = loaded_driver();
  if (driver.handle == nullptr) return nullptr;
  const char* name = driver.is_hip ? "hipDrvPointerGetAttributes" : "cuPointerGetAttributes";
  return reinterpret_cast<GetAttributes>(dlsym(driver.handle, name));
}

/// The driver's function, or null while none is known.
GetAttributes attributes_function() {
  static std::atomic<std::uint64_t> calls = 0;
  if (const GetAttributes known = driver_function.load(std::memory_order_relaxed)) return known;
  const std::uint64_t call = calls.load(std::memory_order_relaxed) + 1;
  calls.store(call, std::memory_order_relaxed);
  if (std::has_single_bit(call)) find_driver();
  return driver_function.load(std::memory_order_relaxed);
}

}  // namespace

Driver loaded_driver() {
  for (const DriverFile& file : driver_files) {
    if (void* handle = dlopen(file.name, RTLD_LAZY | RTLD_NOLOAD)) return {handle, file.is_hip};
  }
  return {nullptr, false};
}

bool find_driver() {
  if (driver_function.load(std::memory_order_relaxed) == nullptr) {
    driver_function.store(find_driver_function(), std::memory_order_relaxed);
  }
  return driver_function.load(std::memory_order_relaxed) != nullptr;
}

Memory memory_of(const void* buffer) {
  constexpr Memory host{MemoryKind::host, 0};
  const GetAttributes get_attributes = attributes_function();
  if (get_attributes == nullptr) return host;
  unsigned type = 0;  // remains 0 for memory unknown to the driver
  unsigned is_managed = 0;
  int device = 0;
  int attributes[] = {attribute_memory_type, attribute_is_managed, attribute_device};
  void* values[] = {&type, &is_managed, &device};
  if (get_attributes(3, attributes, values, reinterpret_cast<unsigned long long>(buffer)) != 0) return host;
  if (is_managed != 0) return {MemoryKind::managed, device};
  return {type == type_device ? MemoryKind::device : type == type_host ? MemoryKind::pinned : MemoryKind::host, device};
}

}  // namespace commlens::preload

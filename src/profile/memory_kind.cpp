// In which memory a buffer lies: asked of CUDA's driver or of HIP's run-time library, where the program has loaded one.
#include <dlfcn.h>

#include <bit>

#include "profile.hpp"

namespace commlens::profile {
namespace {

// From cuda.h and hip_runtime_api.h, which are not there on most machines: CUpointer_attribute and CUmemorytype. HIP
// has the same numbers since ROCm 6; before, its types of memory had others.
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

GetAttributes find_loaded() {
  for (const Driver& driver : drivers) {
    void* library = dlopen(driver.file, RTLD_LAZY | RTLD_NOLOAD);
    if (library != nullptr) return reinterpret_cast<GetAttributes>(dlsym(library, driver.function));
  }
  return nullptr;
}

/// The driver's function, or null as long as none is loaded. A program may load one at any time, so that is asked again
/// whenever the number of calls has doubled.
GetAttributes get_attributes() {
  static std::atomic<GetAttributes> function = nullptr;
  static std::atomic<std::uint64_t> calls = 0;
  if (const GetAttributes known = function.load(std::memory_order_relaxed)) return known;
  const std::uint64_t call = calls.load(std::memory_order_relaxed) + 1;
  calls.store(call, std::memory_order_relaxed);
  if (std::has_single_bit(call)) function.store(find_loaded(), std::memory_order_relaxed);
  return function.load(std::memory_order_relaxed);
}

}  // namespace

Memory memory_of(const void* buffer) {
  const GetAttributes ask = get_attributes();
  if (ask == nullptr) return Memory::host;
  unsigned type = 0;  // stays so for memory that the driver does not know
  unsigned is_managed = 0;
  int attributes[] = {attribute_memory_type, attribute_is_managed};
  void* values[] = {&type, &is_managed};
  if (ask(2, attributes, values, reinterpret_cast<unsigned long long>(buffer)) != 0) return Memory::host;
  if (is_managed != 0) return Memory::managed;
  return type == type_device ? Memory::device : type == type_host ? Memory::pinned : Memory::host;
}

}  // namespace commlens::profile

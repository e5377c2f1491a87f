// NVIDIA's management library (NVML), which comes with the driver. It is loaded when it is needed: a program linked
// with it would not start on a machine without a driver. Of AMD's GPUs nothing is known: their management library is
// not part of HIP. What is declared here is from NVIDIA's NVML API Reference Guide: its header is not part of every
// toolkit.
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "device/gpu/libraries.hpp"

namespace commlens::device::gpu {

namespace {

using Handle = void*;
constexpr int success = 0;          // NVML_SUCCESS
constexpr int multiprocessors = 1;  // NVML_CLOCK_SM
constexpr double watts_per_mW = 1e-3;

/// nvmlClocksThrottleReason*: the clock that was set; the power, by software or by the board; the temperature,
/// likewise.
constexpr std::array<std::pair<std::uint64_t, ClockLimit>, 3> reasons{
    {{0x02, ClockLimit::setting}, {0x04 | 0x80, ClockLimit::power}, {0x20 | 0x40, ClockLimit::temperature}}};

class Nvml {
 public:
  Nvml() {
    int (*init)() = nullptr;
    usable_ = library_ != nullptr && find("nvmlInit_v2", init) && find("nvmlDeviceGetHandleByPciBusId_v2", handle_) &&
              find("nvmlDeviceGetClockInfo", clock_) && find("nvmlDeviceGetMaxClockInfo", highest_clock_) &&
              find("nvmlDeviceGetCurrentClocksThrottleReasons", reasons_) &&
              find("nvmlDeviceGetPowerManagementLimit", power_limit_) &&
              find("nvmlDeviceGetPowerManagementDefaultLimit", default_power_limit_) &&
              find("nvmlShutdown", shutdown_) && init() == success;
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (usable_) shutdown_();
  }

  [[nodiscard]] std::optional<PowerLimit> power_limit(const std::string& pci) const {
    Handle device = nullptr;
    unsigned int now = 0;
    unsigned int usual = 0;
    if (!open(pci, device) || power_limit_(device, &now) != success) return std::nullopt;
    if (default_power_limit_(device, &usual) != success) return std::nullopt;
    return PowerLimit{.watts = watts_per_mW * now, .default_watts = watts_per_mW * usual};
  }

  [[nodiscard]] std::optional<Clock> clock(const std::string& pci) const {
    Handle device = nullptr;
    unsigned int now = 0;
    unsigned int highest = 0;
    unsigned long long active = 0;
    if (!open(pci, device) || clock_(device, multiprocessors, &now) != success) return std::nullopt;
    if (highest_clock_(device, multiprocessors, &highest) != success) return std::nullopt;
    if (reasons_(device, &active) != success) return std::nullopt;
    Clock clock{.MHz = static_cast<double>(now), .highest_MHz = static_cast<double>(highest)};
    for (const auto& [bits, limit] : reasons) {
      if ((active & bits) != 0) clock.limits.insert(limit);
    }
    return clock;
  }

 private:
  template <class Function>
  bool find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_.get(), name));
    return function != nullptr;
  }
  bool open(const std::string& pci, Handle& device) const {
    return usable_ && handle_(pci.c_str(), &device) == success;
  }

  std::unique_ptr<void, decltype([](void* library) { dlclose(library); })> library_{
      dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)};
  bool usable_ = false;
  int (*shutdown_)() = nullptr;
  int (*handle_)(const char*, Handle*) = nullptr;
  int (*clock_)(Handle, int, unsigned int*) = nullptr;
  int (*highest_clock_)(Handle, int, unsigned int*) = nullptr;
  int (*reasons_)(Handle, unsigned long long*) = nullptr;
  int (*power_limit_)(Handle, unsigned int*) = nullptr;
  int (*default_power_limit_)(Handle, unsigned int*) = nullptr;
};

const Nvml& nvml() {
  static const Nvml library;
  return library;
}

}  // namespace

// Asked once, also where host memory is measured: the library must not stay loaded then (transport/ccl.cpp says why).
std::optional<PowerLimit> power_limit_of(const std::string& pci) { return Nvml().power_limit(pci); }
std::optional<Clock> clock_of(const std::string& pci) { return nvml().clock(pci); }

}  // namespace commlens::device::gpu

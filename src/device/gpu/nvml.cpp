// NVIDIA's management library (NVML), which comes with the driver. It is loaded when it is needed: a program linked
// with it would not start on a machine without a driver. Of AMD's GPUs nothing is known: their management library is
// not part of HIP. What is declared here is from NVIDIA's NVML API Reference Guide: its header is not part of every
// toolkit.
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

/// nvmlProcessInfo_t of the third version.
struct ProcessInfo {
  unsigned int process;
  unsigned long long memory;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};

/// nvmlProcessUtilizationSample_t; percentages
struct Utilization {
  unsigned int process;
  unsigned long long time_us;
  unsigned int multiprocessors;
  unsigned int memory;
  unsigned int encoder;
  unsigned int decoder;
};

class Nvml {
 public:
  Nvml() {
    int (*init)() = nullptr;
    find("nvmlDeviceGetComputeRunningProcesses_v3", processes_);
    find("nvmlDeviceGetProcessUtilization", utilization_);
    usable_ = library_ != nullptr && find("nvmlInit_v2", init) && find("nvmlDeviceGetHandleByPciBusId_v2", handle_) &&
              find("nvmlDeviceGetClockInfo", clock_) && find("nvmlDeviceGetMaxClockInfo", highest_clock_) &&
              find("nvmlDeviceGetCurrentClocksThrottleReasons", reasons_) &&
              find("nvmlDeviceGetPowerManagementLimit", power_limit_) &&
              find("nvmlDeviceGetPowerManagementDefaultLimit", default_power_limit_) &&
              find("nvmlShutdown", shutdown_) && init() == success;
  }
  Nvml(Nvml&&) = delete;
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

  [[nodiscard]] std::vector<GpuProcess> processes(const std::string& pci) const {
    Handle device = nullptr;
    std::array<ProcessInfo, 256> found{};
    unsigned int count = found.size();
    if (processes_ == nullptr || !open(pci, device) || processes_(device, &count, found.data()) != success) return {};
    const auto shares = utilizations(device);
    std::vector<GpuProcess> processes;
    for (unsigned int i = 0; i < count; ++i) {
      const auto share = shares.find(found[i].process);
      processes.push_back({.number = static_cast<int>(found[i].process), .utilization = {}});
      if (share != shares.end()) processes.back().utilization = share->second;
    }
    return processes;
  }

 private:
  template <class Function>
  bool find(const char* name, Function& function) {
    if (library_ != nullptr) function = reinterpret_cast<Function>(dlsym(library_.get(), name));
    return function != nullptr;
  }
  /// Of each process the latest sample that the driver has kept.
  [[nodiscard]] std::map<unsigned int, double> utilizations(Handle device) const {
    std::array<Utilization, 1024> samples{};
    unsigned int count = samples.size();
    std::map<unsigned int, double> shares;
    if (utilization_ == nullptr || utilization_(device, samples.data(), &count, 0) != success) return shares;
    std::map<unsigned int, unsigned long long> latest;
    for (unsigned int i = 0; i < count; ++i) {
      if (samples[i].time_us < latest[samples[i].process]) continue;
      latest[samples[i].process] = samples[i].time_us;
      shares[samples[i].process] = 0.01 * samples[i].multiprocessors;
    }
    return shares;
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
  int (*processes_)(Handle, unsigned int*, ProcessInfo*) = nullptr;
  int (*utilization_)(Handle, Utilization*, unsigned int*, unsigned long long) = nullptr;
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
std::vector<GpuProcess> processes_of(const std::string& pci) { return nvml().processes(pci); }

}  // namespace commlens::device::gpu

// The libraries of a GPU, and what the management library of its driver says of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/blas.hpp"
#include "device/device.hpp"
#include "device/fft.hpp"

namespace commlens::device::gpu {

/// Both are for the thread's current GPU.
std::unique_ptr<Blas> make_blas();
std::unique_ptr<Fft> make_fft(const FftShape& shape);

/// Of the GPU at a PCI address. Nothing where the library is missing or does not say.
std::optional<PowerLimit> power_limit_of(const std::string& pci);
std::optional<Clock> clock_of(const std::string& pci);
/// Empty where the library is missing or does not say.
std::vector<GpuProcess> processes_of(const std::string& pci);

}  // namespace commlens::device::gpu

// Tests with each kind of memory: of GPU 0 where there is a GPU, otherwise of the host.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "device/device.hpp"

namespace commlens::device {

inline std::unique_ptr<Device> open_any() { return gpu_count() > 0 ? open_gpu(0) : open_host(); }

/// Skipped where the machine does not have the memory.
class OnEveryMemory : public testing::TestWithParam<Memory> {
 protected:
  void SetUp() override {
    if (!device->has(GetParam())) GTEST_SKIP() << "no " << name(GetParam()) << " memory on this machine";
    device->make_current();
    stream = device->stream(GetParam());
  }

  std::unique_ptr<Device> device = open_any();
  std::unique_ptr<Stream> stream;
};

inline const auto every_memory = testing::Values(Memory::host, Memory::pinned, Memory::device, Memory::managed);

}  // namespace commlens::device

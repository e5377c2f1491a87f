// Tests with each kind of memory: of GPU 0 where there is a GPU, otherwise of the host.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/upload.hpp"

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

  Buffer allocate(std::size_t bytes) { return device->allocate(GetParam(), bytes); }
  template <class T>
  Buffer uploaded(const std::vector<T>& values) {
    return upload(values, allocator, *stream);
  }
  template <class T>
  std::vector<T> downloaded(const Buffer& buffer) {
    return download(buffer.as<T>(), buffer.bytes() / sizeof(T), *stream);
  }

  std::unique_ptr<Device> device = open_any();
  const Allocate allocator = [this](std::size_t bytes) { return allocate(bytes); };
  std::unique_ptr<Stream> stream;
};

inline const auto every_memory = testing::Values(Memory::host, Memory::pinned, Memory::device, Memory::managed);
inline std::string name_of(const testing::TestParamInfo<Memory>& memory) { return std::string(name(memory.param)); }

}  // namespace commlens::device

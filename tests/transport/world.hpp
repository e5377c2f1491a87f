// What tests on several ranks share: the ranks, this rank's device, and a fixture for each transport in each memory.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/upload.hpp"
#include "transport/communicator.hpp"
#include "transport/context.hpp"
#include "transport/transport.hpp"

namespace commlens {

/// All ranks, and this rank's GPU, or the host where there is none. They live from MPI_Init to MPI_Finalize
/// (mpi_main.cpp).
const transport::Communicator& world();
device::Device& this_device();
/// Opens it as early as the launcher allows: main() calls this before MPI_Init.
void open_device_before_mpi();

/// Where a test runs.
struct Place {
  std::string transport;
  device::Memory memory;
};
std::string name_of(const testing::TestParamInfo<Place>& place);  ///< "staged_device"

/// A transport, and a stream of the memory. Tests are skipped where the transport does not support the memory.
class InPlace : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override;

  [[nodiscard]] device::Memory memory() const { return GetParam().memory; }
  /// From the arena, if the transport makes one.
  [[nodiscard]] device::Buffer allocate(std::size_t bytes) const;
  template <class T>
  [[nodiscard]] device::Buffer uploaded(const std::vector<T>& values) const {
    return device::upload(values, [this](std::size_t bytes) { return allocate(bytes); }, *stream);
  }
  template <class T>
  [[nodiscard]] std::vector<T> downloaded(const device::Buffer& buffer) const {
    return device::download(buffer.as<T>(), buffer.bytes() / sizeof(T), *stream);
  }

  /// Counts what is allocated through it.
  [[nodiscard]] Context context();

  const int rank = world().rank();
  const int ranks = world().size();
  std::unique_ptr<device::Stream> stream;
  std::unique_ptr<transport::Transport> transport;
  device::Buffer arena;
  mutable std::size_t used = 0;  ///< bytes of the arena
  double allocated = 0;          ///< bytes, by way of context()
  double staged = 0;             ///< likewise, of staging memory
};

}  // namespace commlens

// What tests on several ranks use: the ranks, a device, and in each memory of it a place to work.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "gather_scatter/gather_scatter.hpp"
#include "sem/mesh.hpp"
#include "transport/communicator.hpp"
#include "transport/transport.hpp"

namespace commlens::sem {

/// From after MPI_Init to before MPI_Finalize.
class World : public testing::Environment {
 public:
  void SetUp() override;
  void TearDown() override;

  std::optional<transport::Communicator> communicator;
  std::unique_ptr<device::Device> device;
};

const transport::Communicator& world();
device::Device& this_device();

/// A memory, with a stream, and a transport that takes its buffers. For tests of each memory that vectors may lie in.
class Place : public testing::TestWithParam<device::Memory> {
 protected:
  void SetUp() override;

  [[nodiscard]] device::Buffer allocate(std::size_t bytes) const;
  [[nodiscard]] device::Buffer zeros(std::size_t count) const;
  [[nodiscard]] device::Buffer written(const std::vector<double>& values) const;
  [[nodiscard]] std::vector<double> read(const device::Buffer& buffer) const;
  [[nodiscard]] gather_scatter::Surroundings surroundings() const;

  device::Memory memory = GetParam();
  int rank = world().rank();
  int ranks = world().size();
  std::unique_ptr<device::Stream> stream;
  std::unique_ptr<transport::Transport> transport;  ///< staged: it takes every memory
};

inline std::string name_of(const testing::TestParamInfo<device::Memory>& place) {
  return std::string(device::name(place.param));
}

/// Of this rank, among all ranks' elements.
inline Mesh mesh_of(const Shape& shape) { return {shape, Partition(shape.elements, world().size()), world().rank()}; }

/// Numbers from -1 to 1 that depend on the key alone: the same on every rank.
double random_number(std::int64_t key);

}  // namespace commlens::sem

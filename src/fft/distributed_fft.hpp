// A three-dimensional transform of complex numbers that are spread over all ranks, as plane-wave codes such as CP2K do
// it.
//
//   backward   coefficients: along x, redistribute, along y, redistribute, along z: points
//   forward    points: along z, redistribute, along y, redistribute, along x: coefficients, divided by the points
//
// So one after the other they lead back. With slabs y and z are one two-dimensional transform, and there is one
// redistribution. Of the cutoff sphere only coefficients inside it are kept.
#pragma once

#include <functional>
#include <memory>

#include "device/device.hpp"
#include "device/fft.hpp"
#include "fft/layout.hpp"
#include "fft/transposition.hpp"

namespace commlens::fft {

class DistributedFft {
 public:
  struct Resources {
    const transport::Communicator& communicator;
    transport::Transport& transport;
    device::Device& device;
    device::Memory memory;
    device::Stream& stream;
    Packer::Allocate allocate;
  };

  /// Collective. `layout` must outlive it. Plans, allocates, and makes what is to be cached.
  DistributedFft(const Layout& layout, DataType type, Exchange exchange, bool cached, const Resources& resources);
  /// Bytes that it asks of Resources::allocate, of which each piece may be rounded up to a page by whoever gives it.
  [[nodiscard]] static double bytes(const Layout& layout, DataType type);

  /// Both are collective, add to the stream, and leave what they start from as it was, the backward one only if the
  /// span is the sphere.
  void backward(Observer* observer);
  void forward(Observer* observer);
  /// Each exchange of both by itself, of whatever lies in the blocks. Only where communicators are cached.
  [[nodiscard]] std::vector<std::function<void()>> exchanges();

  [[nodiscard]] void* coefficients() const;                          ///< Layout::coefficients() of them, by rows
  [[nodiscard]] void* points() const { return points_.data(); }      ///< Layout::points() of them
  [[nodiscard]] const Ray* rows() const { return rows_.as<Ray>(); }  ///< Layout::rows, on the device
  /// Elements that both together read and write to pack and unpack.
  [[nodiscard]] static std::size_t packed(const Layout& layout);

 private:
  [[nodiscard]] Arrays blocks() const;
  void transform(device::Fft& plan, device::Direction direction, const void* from, void* to, Observer* observer);
  /// Rays to coefficients, or back with zeros beyond the sphere.
  void collect(Observer* observer);
  void spread(Observer* observer);

  const Layout& layout_;
  DataType type_;
  device::Stream& stream_;
  device::Buffer points_;
  device::Buffer transformed_;  ///< points, transformed along z (slabs: and y) on the way forward
  device::Buffer between_;      ///< pencils along y; empty for slabs
  device::Buffer along_rows_;   ///< pencils along x, or whole rays
  device::Buffer inside_;       ///< the coefficients of a sphere; empty for the full span
  device::Buffer blocks_before_;
  device::Buffer blocks_after_;
  device::Buffer rows_;
  std::unique_ptr<device::Fft> along_z_;  ///< slabs: along y and z
  std::unique_ptr<device::Fft> along_y_;  ///< nullptr with slabs
  std::unique_ptr<device::Fft> along_x_;
  ProcessGrid process_grid_;
  std::unique_ptr<Transposition> first_;  ///< nullptr with slabs
  Transposition second_;
};

}  // namespace commlens::fft
